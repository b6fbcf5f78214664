"""What the trainer refuses: inputs that probing can't serve, and batches whose groups are mixed up."""

from typing import Any

from torch import Tensor

from scapo.engines.trl.config import ScapoConfig
from scapo.errors import ScapoError


def check_inputs(args: ScapoConfig, kwargs: dict[str, Any]) -> None:
    """Refuse what probing can't serve before a model is loaded."""
    if not args.scores_again:
        return
    for name in ("tools", "environment_factory"):
        if kwargs.get(name):
            raise ScapoError(
                f"{name} is not supported with probing: a response with tool output in it has no second "
                "prompt to be scored under. Set credit='outcome', or leave it out."
            )
    dataset = kwargs.get("train_dataset")
    columns = getattr(dataset, "column_names", None)
    if not args.probes:
        return
    if columns is not None and args.perturbation_column not in columns:
        raise ScapoError(
            f"The training set has no column {args.perturbation_column!r}; found {', '.join(columns)}. Make "
            "it with `scapo perturb`, or set perturbation_column, or credit='outcome' to train without it."
        )


def check_kinds(args: ScapoConfig, dataset: Any) -> None:
    """Refuse a training set of which no row has a rewrite that the method probes: it would be GRPO unseen."""
    if not args.probes or not hasattr(dataset, "__len__"):
        return
    kinds = args.probed_kinds
    if not any((row or {}).get(kind) for row in dataset[args.perturbation_column] for kind in kinds):
        raise ScapoError(
            f"No row of the training set has a rewrite of the kinds {', '.join(kinds)} in its column "
            f"{args.perturbation_column!r}. Make them with `scapo perturb TRAIN.jsonl -o OUT.jsonl --kinds "
            f"{','.join(kinds)}`, or set credit='outcome'."
        )


def check_groups(inputs: list[dict[str, Any]], group_N: Tensor) -> None:
    """All rows of a group must hold the same prompt, else advantages and u would mix problems."""
    first: dict[int, Any] = {}
    for row, group in zip(inputs, group_N.tolist(), strict=True):
        if first.setdefault(group, row["prompt"]) != row["prompt"]:
            raise ScapoError(
                f"Responses to different prompts stand in one group ({str(row['prompt'])[:80]!r}). The "
                "sampler must repeat each prompt num_generations times in a row."
            )
