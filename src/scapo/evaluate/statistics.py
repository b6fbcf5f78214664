"""Statistics of sampled answers: accuracy with clustered errors, pass@k, paired differences. Pure functions.

Samples of one problem are not independent, so a problem is the unit: a set's error is the spread of the
problems' means. `scores` is always a mapping from problem id to the scores of its samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from scapo.errors import ScapoError

Scores = Mapping[str, Sequence[float]]
Z_95 = 1.959963984540054


class TooFewSamples(ScapoError, ValueError):
    """pass@k or avg@k was asked for more samples than there are."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error; None where a single problem allows no error."""

    value: float
    stderr: float | None
    problems: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % by the normal approximation, cut to [0, 1]."""
        if self.stderr is None:
            return None
        return max(0.0, self.value - Z_95 * self.stderr), min(1.0, self.value + Z_95 * self.stderr)


def estimate(values: Sequence[float] | np.ndarray) -> Estimate:
    """Mean over problems and its standard error, sd (ddof 1) / sqrt(problems)."""
    array = np.asarray(values, dtype=float)
    if array.size == 0:
        raise ScapoError("No problem was scored, so there is no accuracy. Check that the set holds problems.")
    error = float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else None
    return Estimate(float(array.mean()), error, int(array.size))


def accuracy(scores: Scores) -> Estimate:
    """Average over the samples that exist of each problem, then over problems (standard error by problem)."""
    return estimate([float(np.mean(samples)) for samples in scores.values()])


def average_at_k(scores: Scores, k: int) -> Estimate:
    """avg@k: the mean of the first k samples of each problem; refused where a problem has fewer."""
    fewest = min(map(len, scores.values()))
    if not 1 <= k <= fewest:
        raise TooFewSamples(
            f"avg@{k} needs {k} samples of every problem, and one has {fewest}. Use k up to {fewest}."
        )
    return estimate([float(np.mean(list(samples)[:k])) for samples in scores.values()])


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased chance that one of k samples is right, 1 - C(n-c, k) / C(n, k), from c right of n.

    As the product 1 - prod_{i=n-c+1..n} (1 - k/i), which neither overflows nor cancels.
    Raises TooFewSamples (a ValueError) for k > n, and ValueError for counts that can't be.
    """
    if k > n:
        raise TooFewSamples(f"pass@{k} needs at least {k} samples a problem; there are {n}. Use k up to {n}.")
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"pass@k needs k >= 1 and 0 <= c <= n; found n={n}, c={c}, k={k}.")
    if n - c < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))


def pass_curve(scores: Scores, ks: Sequence[int]) -> dict[int, Estimate]:
    """pass@k per problem, then the mean over problems; every problem must have k samples."""
    counts = [(len(samples), round(sum(samples))) for samples in scores.values()]
    return {k: estimate([pass_at_k(n, c, k) for n, c in counts]) for k in ks}


def powers_of_two(n: int) -> list[int]:
    """1, 2, 4, ... up to n, and n itself."""
    return sorted({2**power for power in range(n.bit_length()) if 2**power <= n} | {n})


def average_of(estimates: Sequence[Estimate]) -> Estimate:
    """Unweighted mean over sets (the paper's overall averages), with independent errors."""
    errors = [one.stderr for one in estimates]
    known = [error for error in errors if error is not None]
    stderr = float(np.sqrt(np.sum(np.square(known))) / len(errors)) if len(known) == len(errors) else None
    return Estimate(
        float(np.mean([one.value for one in estimates])), stderr, sum(one.problems for one in estimates)
    )


@dataclass(frozen=True)
class Paired:
    """Mean difference B - A over the problems both runs answered, with its 95 % t interval."""

    problems: int
    a: float
    b: float
    difference: float
    stderr: float | None
    low: float | None
    high: float | None
    p_value: float | None
    better: int
    worse: int


def paired_difference(a: Scores, b: Scores) -> Paired:
    """Compare two runs problem by problem (t interval over problems, so shared difficulty cancels)."""
    shared = [problem for problem in a if problem in b]
    if not shared:
        raise ScapoError(
            "The two runs share no problem, so they can't be compared. Evaluate both on one set."
        )
    means_a = np.array([np.mean(a[problem]) for problem in shared])
    means_b = np.array([np.mean(b[problem]) for problem in shared])
    gain = means_b - means_a
    one = estimate(gain)
    low = high = p_value = None
    if one.stderr is not None:
        half = float(stdtrit(gain.size - 1, 0.975)) * one.stderr
        low, high = one.value - half, one.value + half
        p_value = _p_value(one, gain.size)
    return Paired(
        gain.size, float(means_a.mean()), float(means_b.mean()), one.value, one.stderr, low, high, p_value,
        int((gain > 0).sum()), int((gain < 0).sum()),
    )  # fmt: skip


def _p_value(difference: Estimate, problems: int) -> float:
    if not difference.stderr:
        return 1.0 if difference.value == 0 else 0.0
    return float(2 * stdtr(problems - 1, -abs(difference.value / difference.stderr)))
