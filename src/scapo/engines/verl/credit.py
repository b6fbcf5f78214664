"""Advantages per token for a rollout batch: the outcome, and what each credit makes of it.

A credit is a function of the rollout; add one with a line in CREDITS.

Shape suffixes: _N responses, _T response tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch
from torch import Tensor

from scapo.algorithm import (
    augmented_advantage,
    find_spans,
    group_stability,
    outcome_advantage,
    semifactual_correction,
    span_importance_weight,
    top_entropy_weight,
)
from scapo.algorithm.advantage import Std
from scapo.algorithm.cf_grpo import masked_rows, span_drops_from
from scapo.algorithm.stability import Sign
from scapo.engines.methods import plain_constants
from scapo.engines.offsets import text_and_offsets
from scapo.engines.summaries import credit_summary, dead_rows, drift_summary
from scapo.engines.verl.method import MethodSettings
from scapo.engines.verl.rollout import Rollout, probe
from scapo.engines.verl.scoring import Score


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What a credit may use: the method, a scoring function, the tokenizer, a seed."""

    method: MethodSettings
    score: Score
    tokenizer: Any = None
    seed: int = 0


@dataclass
class Credited:
    """advantage_NT and mask_NT for the loss, and numbers about them."""

    advantage_NT: Tensor
    mask_NT: Tensor
    metrics: dict[str, float] = field(default_factory=dict)


def credited(rollout: Rollout, tools: Tools) -> Credited:
    """The advantages of a rollout batch by the method's credit."""
    method = tools.method
    advantage_N = outcome_advantage(
        rollout.reward_N, rollout.group_N, cast(Std, method.std), method.advantage_eps
    )
    dead_N = dead_rows(rollout.reward_N, rollout.group_N)
    if method.dead_groups == "drop":
        rollout = replace(rollout, mask_NT=without_dead_rows(rollout, dead_N))
    found = CREDITS[method.credit](rollout, advantage_N, dead_N, tools)
    found.advantage_NT = found.advantage_NT.masked_fill(~rollout.mask_NT, 0.0)
    found.metrics["credit/dead_groups"] = float(dead_N.float().mean())
    return found


def without_dead_rows(rollout: Rollout, dead_N: Tensor) -> Tensor:
    """The mask without the groups of equal rewards (DAPO's filter).

    An update whose rows are all dead keeps them: their advantage is 0, while no token at all would make the
    token mean 0 / 0.
    """
    mask_NT = rollout.mask_NT & ~dead_N[:, None]
    for step in rollout.step_N.unique():
        rows = rollout.step_N == step
        if not bool(mask_NT[rows].any()):
            mask_NT[rows] = rollout.mask_NT[rows]
    return mask_NT


def _outcome(rollout: Rollout, advantage_N: Tensor, dead_N: Tensor, tools: Tools) -> Credited:
    return Credited(_per_token(advantage_N, rollout), rollout.mask_NT)


def _semifactual(rollout: Rollout, advantage_N: Tensor, dead_N: Tensor, tools: Tools) -> Credited:
    """SCAPO: A + lambda * min(u, 0), with the lambda of the optimiser step that each row feeds."""
    method, first = tools.method, int(rollout.step_N.min())
    lam = method.schedule.at(first)
    if lam == 0:  # it never rises again
        return Credited(_per_token(advantage_N, rollout), rollout.mask_NT, {"scapo/lambda": 0.0})
    found = probe(rollout, method.noise_rows, tools.score)
    u_NT = group_stability(found.drift_KNT, rollout.mask_NT, rollout.group_N, found.present_KN)
    correction_NT = semifactual_correction(
        u_NT,
        rollout.mask_NT,
        sign=cast(Sign, method.sign),
        source="shuffled" if method.source == "shuffled" else "aligned",
        generator=torch.Generator().manual_seed(tools.seed * 1_000_003 + first),
    )
    if method.dead_groups == "skip":
        correction_NT = correction_NT.masked_fill(dead_N[:, None], 0.0)
    advantage_NT = _scheduled(advantage_N, correction_NT, rollout.step_N, method)
    probed_NT = rollout.mask_NT & found.present_KN.any(dim=0)[:, None]
    metrics = drift_summary(found.mean_drift_NT[probed_NT], found.noise_M)
    flat = _per_token(advantage_N, rollout)[rollout.mask_NT], correction_NT[rollout.mask_NT]
    return Credited(
        advantage_NT, rollout.mask_NT, metrics | credit_summary(*flat, lam) | {"scapo/lambda": lam}
    )


def _scheduled(advantage_N: Tensor, correction_NT: Tensor, step_N: Tensor, method: MethodSettings) -> Tensor:
    out_NT = torch.zeros_like(correction_NT)
    for step in step_N.unique().tolist():
        rows = step_N == step
        out_NT[rows] = augmented_advantage(advantage_N[rows], correction_NT[rows], method.schedule.at(step))
    return out_NT


def _entropy_top(rollout: Rollout, advantage_N: Tensor, dead_N: Tensor, tools: Tools) -> Credited:
    """80/20: only the rollout batch's tokens of the highest entropy, which verl's log-prob pass has measured."""
    assert rollout.entropy_NT is not None
    weight_NT = top_entropy_weight(
        rollout.entropy_NT, rollout.mask_NT, **plain_constants(tools.method.credit_constants)
    )
    return _weighted(rollout, advantage_N, weight_NT)


def _cf_grpo(rollout: Rollout, advantage_N: Tensor, dead_N: Tensor, tools: Tools) -> Credited:
    """CF-GRPO: tokens of the spans whose masking makes the answer less likely weigh more; one call for all."""
    found = [find_spans(*text_and_offsets(tools.tokenizer, ids)) for ids in rollout.response_ids]
    masked = masked_rows(rollout.response_ids, found, tools.tokenizer.pad_token_id)
    logps = tools.score([(rollout.prompt_ids[n], response) for n, response in masked]) if masked else []
    drops = span_drops_from(rollout.logp_NT, logps, found)
    weight_NT = span_importance_weight(
        drops,
        [spans.spans for spans in found],
        rollout.mask_NT,
        **plain_constants(tools.method.credit_constants),
    )
    return _weighted(rollout, advantage_N, weight_NT)


def _weighted(rollout: Rollout, advantage_N: Tensor, weight_NT: Tensor) -> Credited:
    spread = weight_NT[rollout.mask_NT]
    metrics = {"credit/weight_std": float(spread.std())} if len(spread) > 1 else {}
    return Credited(advantage_N[:, None] * weight_NT, rollout.mask_NT, metrics)


def _per_token(advantage_N: Tensor, rollout: Rollout) -> Tensor:
    return advantage_N[:, None].expand(rollout.mask_NT.shape)


CREDITS: dict[str, Callable[[Rollout, Tensor, Tensor, Tools], Credited]] = {
    "outcome": _outcome,
    "semifactual": _semifactual,
    "entropy_top": _entropy_top,
    "cf_grpo": _cf_grpo,
    "fipo": _outcome,  # its weight follows the policy in training, so it is taken in the loss (losses.py)
}
