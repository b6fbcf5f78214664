"""Credit: what each token of a response gets, decided after a rollout and applied at every optimiser step.

To add one: a class with the methods of `Credit` (OutcomeCredit has all of them), and a line in registry.py.

Shape suffixes: _K perturbations, _N responses of this process's rollout batch, _B rows of one micro-batch,
_T response tokens.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from scapo.algorithm import augmented_advantage, semifactual_correction
from scapo.algorithm.stability import Sign
from scapo.engines.trl.config import ScapoConfig


@dataclass
class Rollout:
    """One batch of responses of this process, rows in dataset order (the groups are still together)."""

    step: int
    """The first optimiser step it feeds, from 1."""
    rows: list[dict[str, Any]]
    prompt_ids: list[list[int]]
    completion_ids: list[list[int]]
    mask_NT: Tensor
    """True at response tokens that count in the loss."""
    group_N: Tensor
    """Number of the row's prompt in the whole batch, over all processes."""
    reward_N: Tensor
    advantage_N: Tensor
    dead_N: Tensor
    """True where all responses of the row's prompt, over all processes, got the same reward."""
    # What the probe adds.
    drift_NT: Tensor | None = None
    """Mean over the perturbations present."""
    u_NT: Tensor | None = None
    noise_M: Tensor | None = None
    """Drift of the original prompt against itself at some tokens: rounding."""
    probed_N: Tensor | None = None
    """True where a row has any perturbation."""
    correction_NT: Tensor | None = None
    # What a multiplicative credit adds.
    weight_NT: Tensor | None = None
    batch: dict[str, Any] = field(default_factory=dict)
    """The same rows as the engine's padded tensors."""


class Credit(Protocol):
    """The moments of token credit."""

    uses_current_policy: bool
    """Whether `at_loss` is wanted; the loss is then our own (objective.py)."""

    def after_rollout(self, trainer: Any, rollout: Rollout) -> dict[str, Tensor]:
        """Tensors with one row per response that should travel to the optimiser steps."""
        ...

    def at_step(self, inputs: dict[str, Any], step: int) -> Tensor:
        """The advantages of a micro-batch, (B,) or (B, T), at optimiser step `step` (from 1)."""
        ...

    def at_loss(
        self, advantage: Tensor, logp_BT: Tensor, old_BT: Tensor, mask_BT: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Advantages and mask once the current policy's log-probs are known (without gradient)."""
        ...


class OutcomeCredit:
    """GRPO: every token of a response gets the response's advantage."""

    uses_current_policy = False

    def __init__(self, config: ScapoConfig) -> None:
        pass

    def after_rollout(self, trainer: Any, rollout: Rollout) -> dict[str, Tensor]:
        return {}

    def at_step(self, inputs: dict[str, Any], step: int) -> Tensor:
        return inputs["advantages"]

    def at_loss(
        self, advantage: Tensor, logp_BT: Tensor, old_BT: Tensor, mask_BT: Tensor
    ) -> tuple[Tensor, Tensor]:
        return advantage, mask_BT


class SemifactualCredit(OutcomeCredit):
    """SCAPO (arXiv:2609.40360, eq. 9): A~ = A + lambda * min(u, 0), lambda by the schedule.

    u is fixed for all optimiser steps that a rollout batch feeds; lambda is looked up at each of them. Where
    lambda is 0 the advantages are passed on untouched, so the loss is GRPO's bit for bit, and a rollout whose
    first step has lambda 0 is not probed (lambda never rises again).
    """

    KEY = "semifactual_correction"

    def __init__(self, config: ScapoConfig) -> None:
        self.config = config
        self.schedule = config.schedule

    def after_rollout(self, trainer: Any, rollout: Rollout) -> dict[str, Tensor]:
        if self.schedule.at(rollout.step) == 0:
            return {}
        trainer.probe(rollout)
        correction_NT = semifactual_correction(
            rollout.u_NT,
            rollout.mask_NT,
            sign=cast(Sign, self.config.sign),
            source="shuffled" if self.config.source == "shuffled" else "aligned",
            generator=torch.Generator().manual_seed(self.config.seed * 1_000_003 + rollout.step),
        )
        if self.config.dead_groups == "skip":
            correction_NT = correction_NT.masked_fill(rollout.dead_N[:, None], 0.0)
        rollout.correction_NT = correction_NT
        return {self.KEY: correction_NT}

    def at_step(self, inputs: dict[str, Any], step: int) -> Tensor:
        lam = self.schedule.at(step)
        if lam == 0 or self.KEY not in inputs:
            return inputs["advantages"]
        return augmented_advantage(inputs["advantages"], inputs[self.KEY], lam)
