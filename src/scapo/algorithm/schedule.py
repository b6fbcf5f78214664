"""The schedule of lambda: the correction guides early training and then goes away."""

import math
from dataclasses import dataclass

from scapo.errors import ScapoError


@dataclass(frozen=True)
class LambdaSchedule:
    """lambda_0 for the policy-optimisation steps 1 <= step <= n_0, then 0 (eq. 11).

    Steps count optimiser updates from 1, not rollout batches: one rollout batch that feeds two updates
    advances the schedule by two. At lambda 0 nothing needs to be probed.

    Defaults are the paper's for Qwen3-4B-Base; it uses n_0 = 200 for Qwen3-1.7B-Base.
    """

    lambda_0: float = 0.01
    n_0: int = 120

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lambda_0) and self.lambda_0 >= 0):
            raise ScapoError(f"lambda_0 is {self.lambda_0}; it must be a finite number that is not negative.")
        if self.n_0 < 0:
            raise ScapoError(f"n_0 is {self.n_0}; it must be a number of steps, 0 or more.")

    def at(self, step: int) -> float:
        """lambda of optimiser step `step`, counted from 1."""
        if step < 1:
            raise ScapoError(f"Optimiser steps count from 1, but lambda was asked for step {step}.")
        return self.lambda_0 if step <= self.n_0 else 0.0
