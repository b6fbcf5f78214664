"""The reward in the form that verl calls: one response and its gold at a time, on any thread."""

from typing import Any

from scapo.reward import score


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **_: Any
) -> dict[str, Any]:
    """The score of `scapo.reward` (0 or 1), with its reason and the answer found."""
    found = score(solution_str, ground_truth)
    return {
        "score": found.value,
        "acc": found.value,
        "reason": found.reason.value,
        "extracted": found.extracted or "",
    }
