"""Means with clustered errors and paired differences, all as shares in [0, 1]."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

Scores = Mapping[str, Sequence[float]]  # problem id -> scores of its samples
SURE_WITHOUT_SPREAD = (
    6  # units that all moved the same way: 2 * 2**-6 < 0.05 (sign test), fewer prove nothing
)


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and the count of independent units behind it (problems or seeds).

    `stderr` is None where it can't be known: one unit only, or a results file that states none.
    """

    mean: float
    stderr: float | None
    units: int
    unit: str  # "problems" | "seeds"

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Student-t interval with units - 1 degrees of freedom; None without a standard error."""
        if self.stderr is None or self.units < 2:
            return None
        half = float(stats.t.ppf(0.5 + level / 2, self.units - 1)) * self.stderr
        return self.mean - half, self.mean + half

    @property
    def verdict(self) -> str:
        """For a difference: "higher", "lower", "noise" (the interval holds 0) or "unknown"."""
        interval = self.interval()
        if interval is None or (self.stderr == 0 and self.mean != 0 and self.units < SURE_WITHOUT_SPREAD):
            return "unknown"
        low, high = interval
        if low > 0:
            return "higher"
        return "lower" if high < 0 else "noise"


def mean_of_units(values: Sequence[float], unit: str) -> Estimate:
    """Mean of independent values, SE = sd (ddof 1) / sqrt(n)."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Estimate(mean, None, count, unit)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Estimate(mean, math.sqrt(variance / count), count, unit)


def clustered_mean(scores: Scores) -> Estimate:
    """Accuracy over problems: samples of one problem are not independent, so a problem is one unit."""
    return mean_of_units(list(_problem_means(scores).values()), "problems")


def paired_difference(ours: Scores, theirs: Scores) -> Estimate | None:
    """Mean of (ours - theirs) over the problems both were asked; None when they share none.

    Pairing removes the variance between easy and hard problems, which is most of it.
    """
    shared = [key for key in ours if key in theirs]
    if not shared:
        return None
    mine, other = _problem_means(ours), _problem_means(theirs)
    return mean_of_units([mine[key] - other[key] for key in shared], "problems")


def unpaired_difference(ours: Estimate, theirs: Estimate) -> Estimate:
    """Difference of two independent means; its units are the smaller count (a cautious t)."""
    both = ours.stderr is not None and theirs.stderr is not None
    stderr = math.hypot(ours.stderr or 0.0, theirs.stderr or 0.0) if both else None
    return Estimate(ours.mean - theirs.mean, stderr, min(ours.units, theirs.units), ours.unit)


def _problem_means(scores: Scores) -> dict[str, float]:
    return {key: math.fsum(values) / len(values) for key, values in scores.items()}


def moving_average(values: Sequence[float], window: int) -> list[float]:
    """Centred moving average; near the ends the window shrinks to what is there."""
    half = window // 2
    return [
        math.fsum(values[max(0, i - half) : i + half + 1]) / len(values[max(0, i - half) : i + half + 1])
        for i in range(len(values))
    ]
