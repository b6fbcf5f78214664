"""One rollout batch as the algorithm sees it: real responses only, padded, with a number per prompt group.

Shape suffixes: _K perturbations, _N responses, _T response tokens, _M valid tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from scapo.algorithm import probability_drift
from scapo.engines.verl.scoring import Ids, Score


@dataclass
class Rollout:
    """The responses of all ranks, verl's padding rows left out.

    step_N: the optimiser step (from 1) that each row feeds. logp_NT: log-probs under the policy that starts
    the update, whatever outside the mask. The ids are there where responses are scored again; rewrites: per row
    the ids of its prompt under each probed kind, None where one is missing.
    """

    step_N: Tensor
    group_N: Tensor
    reward_N: Tensor
    mask_NT: Tensor
    logp_NT: Tensor
    entropy_NT: Tensor | None = None
    prompt_ids: list[Ids] = field(default_factory=list)
    response_ids: list[Ids] = field(default_factory=list)
    rewrites: list[list[Ids | None]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Probed:
    """drift_KNT (0 where absent), present_KN, and the drift of some prompts against themselves."""

    drift_KNT: Tensor
    present_KN: Tensor
    noise_M: Tensor

    @property
    def mean_drift_NT(self) -> Tensor:
        """Over the perturbations present."""
        return self.drift_KNT.sum(dim=0) / self.present_KN.sum(dim=0).clamp(min=1)[:, None]


def probe(rollout: Rollout, noise_rows: int, score: Score) -> Probed:
    """Drift of every valid token under every rewrite, all sequences scored together in one call.

    The clean log-probs are verl's own of this step. A few responses are scored again under their own prompt, in
    the same call: their drift is what another batch composition does to the same sum.
    """
    N, T = rollout.mask_NT.shape
    K = len(rollout.rewrites[0])
    counted = [n for n in range(N) if bool(rollout.mask_NT[n].any())]
    cells = [(k, n) for n in counted for k in range(K) if rollout.rewrites[n][k]]
    again = counted[:: max(1, -(-len(counted) // noise_rows))] if noise_rows and cells else []
    sequences = [(rollout.rewrites[n][k] or (), rollout.response_ids[n]) for k, n in cells]
    sequences += [(rollout.prompt_ids[n], rollout.response_ids[n]) for n in again]
    found = score(sequences) if sequences else []
    logp_KNT = rollout.logp_NT.expand(K, N, T).clone()
    present_KN = torch.zeros(K, N, dtype=torch.bool)
    for (k, n), logp in zip(cells, found, strict=False):
        logp_KNT[k, n, : len(logp)], present_KN[k, n] = logp, True
    drift_KNT = probability_drift(rollout.logp_NT, logp_KNT).masked_fill(~rollout.mask_NT, 0.0)
    return Probed(
        drift_KNT=drift_KNT,
        present_KN=present_KN,
        noise_M=_noise(rollout, again, found[len(cells) :]),
    )


def _noise(rollout: Rollout, rows: Sequence[int], logps: Sequence[Tensor]) -> Tensor:
    parts = [
        probability_drift(rollout.logp_NT[n, : len(logp)], logp[None])[0][rollout.mask_NT[n, : len(logp)]]
        for n, logp in zip(rows, logps, strict=True)
    ]
    return torch.cat(parts) if parts else torch.zeros(0)


def steps_of_rows(first: int, rows: int, ranks: int, update_rows: int) -> Tensor:
    """The optimiser step that each row of a batch feeds, (rows,), where rows are used in their order.

    verl cuts the batch into one slice per rank, and each slice into its share of every update.
    """
    per_rank, share = rows // ranks, update_rows // ranks
    place = torch.arange(rows) % per_rank
    return first + place // share
