"""Plain against d-filtered sampling on the same problems (the paper's table 5)."""

import math
from collections.abc import Sequence
from typing import Any

from scipy.stats import binomtest


def paired_outcomes(plain: Sequence[float], filtered: Sequence[float]) -> dict[str, Any]:
    """Counts of problems by who solved them, and McNemar's exact test of "gained as often as lost".

    Args:
        plain, filtered: scores of the same problems in the same order; above 0.5 is solved.

    Returns:
        problems, both, lost (only plain), gained (only filtered), neither; the accuracies; their difference
        with its standard error over problems (None for one problem); mcnemar_p (two-sided, exact binomial; 1
        when nothing changed).
    """
    pairs = [(a > 0.5, b > 0.5) for a, b in zip(plain, filtered, strict=True)]
    count = {key: pairs.count(pair) for key, pair in OUTCOMES.items()}
    n, gained, lost = len(pairs), count["gained"], count["lost"]
    difference = (gained - lost) / n
    # differences are 1, -1 or 0: their mean square is (gained + lost) / n
    variance = ((gained + lost) / n - difference**2) * n / (n - 1) if n > 1 else None
    return {
        "problems": n,
        **count,
        "accuracy_plain": (count["both"] + lost) / n,
        "accuracy_filtered": (count["both"] + gained) / n,
        "difference": difference,
        "stderr": None if variance is None else math.sqrt(variance / n),
        "mcnemar_p": float(binomtest(gained, gained + lost, 0.5).pvalue) if gained + lost else 1.0,
    }


OUTCOMES = {
    "both": (True, True),
    "lost": (True, False),
    "gained": (False, True),
    "neither": (False, False),
}


def rejection_rates(rejections: Sequence[int], tokens: Sequence[int]) -> dict[str, float]:
    """Rejected first draws per response, and as a share of all steps."""
    return {
        "rejections_per_response": sum(rejections) / len(rejections),
        "rejections_per_step": sum(rejections) / max(1, sum(tokens)),
    }
