"""One method on one suite: its estimate, and its difference from another method."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scapo.report.read import finite
from scapo.report.statistics import (
    Estimate,
    clustered_mean,
    mean_of_units,
    paired_difference,
    unpaired_difference,
)


@dataclass
class Cell:
    """All evaluations of one method on one suite; a replicate is one trained model (one training seed)."""

    scores: dict[str, dict[str, list[float]]] = field(
        default_factory=dict
    )  # replicate -> problem id -> scores
    stated: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # replicate -> the results file's own record
    sampled: list[tuple[str, int | None]] = field(
        default_factory=list
    )  # (replicate, sampling seed), each once

    def estimate(self) -> Estimate | None:
        """Over seeds where several models were trained, otherwise over problems; None without scores."""
        each = [estimate for key in self.stated if (estimate := self._replicate(key)) is not None]
        return (
            mean_of_units([one.mean for one in each], "seeds")
            if len(each) > 1
            else (each[0] if each else None)
        )

    def _replicate(self, key: str) -> Estimate | None:
        if self.scores.get(key):
            return clustered_mean(self.scores[key])
        accuracy, stderr = finite(self.stated[key].get("accuracy")), finite(self.stated[key].get("stderr"))
        if accuracy is None:
            return None
        return Estimate(accuracy, stderr, int(finite(self.stated[key].get("problems")) or 0), "problems")

    def means(self) -> dict[str, float]:
        """Accuracy of each replicate."""
        return {key: one.mean for key in self.stated if (one := self._replicate(key)) is not None}

    def count(self, name: str) -> float | None:
        """A number of the results files, such as truncation_rate, averaged over replicates."""
        values = [value for record in self.stated.values() if (value := finite(record.get(name))) is not None]
        return math.fsum(values) / len(values) if values else None

    def samples(self) -> float | None:
        """Samples per problem: counted where samples were kept, otherwise as stated."""
        counts = [len(values) for scores in self.scores.values() for values in scores.values()]
        return sum(counts) / len(counts) if counts else self.count("samples")

    def sampling_seeds(self) -> str:
        """The sampling seeds used, for display."""
        return ", ".join(sorted({str(seed) for _, seed in self.sampled if seed is not None})) or "not stated"

    def reasons(self) -> dict[str, int]:
        """Counts of the reasons for a score, over all replicates, most frequent first."""
        total: dict[str, int] = {}
        for record in self.stated.values():
            reasons = record.get("reasons")
            for reason, count in reasons.items() if isinstance(reasons, Mapping) else ():
                total[str(reason)] = total.get(str(reason), 0) + int(finite(count) or 0)
        return dict(sorted(total.items(), key=lambda item: -item[1]))


@dataclass(frozen=True)
class Difference:
    """One method minus another on one suite, and how the two were compared."""

    estimate: Estimate
    how: str  # "paired by seed" | "paired by problem" | "unpaired"


def difference(ours: Cell, theirs: Cell) -> Difference | None:
    """By matching training seeds where there are two or more, else by problem, else as independent means."""
    mine, other = ours.means(), theirs.means()
    shared = [key for key in mine if key in other]
    if len(shared) > 1:
        return Difference(
            mean_of_units([mine[key] - other[key] for key in shared], "seeds"), "paired by seed"
        )
    if len(ours.scores) == len(theirs.scores) == len(mine) == len(other) == 1:
        (a,), (b,) = ours.scores.values(), theirs.scores.values()
        if (paired := paired_difference(a, b)) is not None:
            return Difference(paired, "paired by problem")
    first, second = ours.estimate(), theirs.estimate()
    return Difference(unpaired_difference(first, second), "unpaired") if first and second else None


def beats(ours: Cell, theirs: Cell) -> bool:
    """Whether `ours` is better by more than noise."""
    found = difference(ours, theirs)
    return found is not None and found.estimate.verdict == "higher"
