"""Numbers about one rollout batch and one optimiser step; pure functions of tensors and logs.

Shape suffixes: _K perturbations, _N responses of one process, _T response tokens, _M valid tokens.
"""

import logging
import math
import resource
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scapo.engines.summaries import credit_summary, drift_summary, histogram, reason_shares
from scapo.engines.trl.credit import Rollout

logger = logging.getLogger(__name__)

TRUNCATED_MANY = 0.5
SIGNAL_LOW = 2.0

FROM_TRL = {
    "loss": "loss",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
    "entropy": "entropy",
    "kl": "kl",
    "clip_ratio/low_mean": "clip/low",
    "clip_ratio/high_mean": "clip/high",
    "completions/mean_length": "length/mean",
    "completions/clipped_ratio": "length/truncated",
}
"""TRL's log names and ours (docs/files.md). Names of ours go through TRL's log as they are."""
OURS = ("reward/", "drift/", "credit/", "time/", "memory/", "tokens_per_second", "lambda")


def row_mean(values_NT: Tensor, mask_NT: Tensor) -> list[float | None]:
    """Mean over each row's valid tokens; None for a row without any."""
    totals, counts = (values_NT * mask_NT).sum(dim=1).tolist(), mask_NT.sum(dim=1).tolist()
    return [total / count if count else None for total, count in zip(totals, counts, strict=True)]


def sample_rows(rollout: Rollout, scored: dict[str, Any], truncated: list[bool]) -> list[dict[str, Any]]:
    """One object per response of this process, as docs/files.md lays down for samples.jsonl."""
    count = len(rollout.rows)
    nothing: list[Any] = [None] * count
    drift = nothing if rollout.drift_NT is None else row_mean(rollout.drift_NT, rollout.mask_NT)
    correction = (
        nothing if rollout.correction_NT is None else row_mean(rollout.correction_NT, rollout.mask_NT)
    )
    reward = [None if math.isnan(value) else value for value in rollout.reward_N.tolist()]
    return [
        {
            "step": rollout.step,
            "problem_id": rollout.rows[i].get("id"),
            "completion": _text(scored["completions"][i]),
            "reward": reward[i],
            "reason": scored["logged"].get("reason", nothing)[i],
            "extracted": scored["logged"].get("extracted", nothing)[i],
            "tokens": len(rollout.completion_ids[i]),
            "truncated": truncated[i],
            "advantage": float(rollout.advantage_N[i]),
            "drift_mean": drift[i],
            "u_negative_mean": correction[i],
        }
        for i in range(count)
    ]


def _text(completion: Any) -> str:
    return completion if isinstance(completion, str) else str(completion[-1].get("content") or "")


def rollout_summary(
    rollout: Rollout, samples: list[dict[str, Any]], lam: float, gather: Callable[[Tensor], Tensor]
) -> dict[str, Any]:
    """Everything said about one rollout batch of all processes; a dict value is a histogram."""
    rewards = [sample["reward"] for sample in samples if sample["reward"] is not None]
    found: dict[str, Any] = reason_shares([sample["reason"] for sample in samples])
    if rewards:
        found["reward/mean"] = sum(rewards) / len(rewards)
    found["credit/dead_groups"] = float(gather(rollout.dead_N.float()).mean())
    mask_NT = rollout.mask_NT
    if rollout.drift_NT is not None and rollout.u_NT is not None and rollout.probed_N is not None:
        probed_NT = mask_NT & rollout.probed_N[:, None]
        found |= drift_summary(gather(rollout.drift_NT[probed_NT]), gather(rollout.noise_M))
        found["credit/u_histogram"] = histogram(gather(rollout.u_NT[probed_NT]))
    if rollout.correction_NT is not None:
        advantage_NT = rollout.advantage_N[:, None].expand_as(mask_NT)
        found |= credit_summary(gather(advantage_NT[mask_NT]), gather(rollout.correction_NT[mask_NT]), lam)
    return found


def warn(found: dict[str, Any], truncated: float) -> None:
    """Say in the log what would otherwise waste hours."""
    if truncated > TRUNCATED_MANY and found.get("reward/mean") == 0:
        logger.warning(
            f"{truncated:.0%} of the responses were cut at the length limit and every reward is 0: the "
            "answers never arrive. Raise max_completion_length, or check the stop tokens printed at the "
            "start."
        )
    if found.get("drift/signal_to_noise", math.inf) < SIGNAL_LOW:
        logger.warning(
            f"The drift ({found['drift/mean']:.2g}) is near its noise floor "
            f"({found['drift/noise_floor']:.2g}): much of the correction is rounding noise. Probe in "
            "float32 (trainer.bf16: false); see docs/train.md."
        )


def step_row(step: int, lam: float, logs: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """One line of metrics.jsonl from a step's logs. Absent and non-finite numbers are left out."""
    row: dict[str, Any] = {"step": step, "lambda": lam}
    for name, value in logs.items():
        ours = FROM_TRL.get(name, name if name.startswith(OURS) else None)
        if ours and isinstance(value, int | float) and np.isfinite(value):
            row[ours] = float(value)
    return row | extra


def peak_memory_gib() -> float:
    """Largest memory so far: of the GPU where there is one, else of this process."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**30
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
