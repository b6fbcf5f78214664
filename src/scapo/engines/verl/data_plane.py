"""Every call to verl's data plane: reading and writing trajectories, and scoring sequences on the actor workers.

Tested with verl 0.9.1 and TransferQueue 0.1. Shape suffixes: _N trajectories, _T response tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
import transfer_queue
from tensordict import TensorDict
from torch import Tensor
from verl.utils import tensordict_utils
from verl.utils.seqlen_balancing import calculate_workload, get_seqlen_balanced_partitions

Ids = Sequence[int]


def read(batch: Any, fields: Sequence[str]) -> dict[str, list[Any]]:
    """One list per field that the trajectories have: tensors as they are, anything else as plain Python."""
    found = transfer_queue.kv_batch_get(
        keys=batch.keys, partition_id=batch.partition_id, select_fields=list(fields)
    )
    return {name: _rows(found.get(name)) for name in fields if name in found.keys()}  # noqa: SIM118


def _rows(values: Any) -> list[Any]:
    if isinstance(values, Tensor):
        return list(values.unbind())
    return list(values.tolist() if hasattr(values, "tolist") else values)


def write(batch: Any, fields: dict[str, Tensor], lengths: Sequence[int]) -> Any:
    """Put padded (N, T) tensors back as ragged fields, row n with lengths[n] tokens."""
    ragged = {
        name: _ragged([row[:length] for row, length in zip(values_NT, lengths, strict=True)])
        for name, values_NT in fields.items()
    }
    return transfer_queue.kv_batch_put(
        keys=batch.keys,
        partition_id=batch.partition_id,
        fields=TensorDict(ragged, batch_size=len(batch.keys)),
    )


def padding_rows(batch: Any) -> list[bool]:
    """Which trajectories verl made up to fill the batch."""
    return [bool(tag.get("is_padding", False)) for tag in batch.tags]


def ranks(worker_group: Any, mesh: str = "actor") -> int:
    """The number of data-parallel ranks among which the worker group's calls are split."""
    if mesh not in worker_group._dispatch_info:
        worker_group._dispatch_info[mesh] = worker_group._query_dispatch_info(mesh)
    return max(worker_group._dispatch_info[mesh]) + 1


def response_logprobs(
    worker_group: Any, sequences: Sequence[tuple[Ids, Ids]], temperature: float, micro_batch: int | None
) -> list[Tensor]:
    """Log-probs (nats, float32) of each response behind its prompt, by the policy as it is now.

    All sequences go out in one call: split by length over the ranks, there in the batches of verl's own
    log-prob pass, without entropy; only one number per token comes back.

    Args:
        sequences: pairs (prompt ids, response ids); responses are not empty.
        micro_batch: rows per forward pass where verl packs by rows, None where it packs by tokens.
    """
    order = _balanced([len(p) + len(r) for p, r in sequences], ranks(worker_group), micro_batch or 1)
    rows = [(list(sequences[n][0]), list(sequences[n][1])) for n in order]
    output = worker_group.compute_log_prob(_as_batch(rows, temperature))
    found: dict[int, Tensor] = {}
    for n, (_, response), logp_S in zip(order, rows, output["log_probs"].unbind(), strict=True):
        found[n] = logp_S[-len(response) - 1 : -1].float()  # a position predicts the token after it
    return [found[n] for n in range(len(sequences))]


def _balanced(lengths: Sequence[int], parts: int, multiple: int) -> list[int]:
    """Rows in an order whose equal slices (one per rank) cost about the same.

    Where the count does not divide, the shortest row is scored more than once.
    """
    shortest = min(range(len(lengths)), key=lengths.__getitem__)
    rows = list(range(len(lengths))) + [shortest] * (-len(lengths) % (parts * multiple))
    cost = calculate_workload(torch.tensor([lengths[row] for row in rows], dtype=torch.int64))
    partitions = get_seqlen_balanced_partitions(cost, k_partitions=parts, equal_size=True)
    return [rows[place] for partition in partitions for place in partition]


def _as_batch(rows: Sequence[tuple[list[int], list[int]]], temperature: float) -> TensorDict:
    whole = [torch.tensor(prompt + response) for prompt, response in rows]
    return tensordict_utils.get_tensordict(
        {
            "input_ids": _ragged(whole),
            "position_ids": _ragged([torch.arange(len(ids)) for ids in whole]),
            "loss_mask": _ragged([torch.ones(len(response), dtype=torch.int64) for _, response in rows]),
            "prompts": _ragged([torch.tensor(prompt) for prompt, _ in rows]),
            "responses": _ragged([torch.tensor(response) for _, response in rows]),
        },
        {"temperature": temperature, "calculate_entropy": False, "compute_loss": False},
    )


def _ragged(rows: list[Tensor]) -> Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)
