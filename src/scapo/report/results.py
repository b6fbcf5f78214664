"""One table out of many evaluations: a cell per method and suite, differences between methods, who leads."""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from scapo.report.cells import Cell, Difference, beats, difference
from scapo.report.runs import CompareRun, EvalRun, Runs, TrainRun

PAPER_ORDER = ("base", "grpo", "gspo", "sapo", "cf-grpo", "fipo", "scapo")
REFERENCE = "grpo"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
ALL_PAIRS_UP_TO = 3  # methods; with more, each is compared with the reference only


@dataclass
class Results:
    """Cells by label and suite, in display order, plus notes on what was merged or left out."""

    labels: list[str]
    suites: list[str]  # sets first, then aggregates
    aggregates: set[str]
    cells: dict[tuple[str, str], Cell]
    notes: list[str]
    baselines: dict[str, str] = field(default_factory=dict)  # a comparison's methods -> its baseline

    def leaders(self, suite: str) -> list[str]:
        """The best method of a suite and all that it does not beat by more than noise."""
        means = {
            label: one.mean
            for label in self.labels
            if (cell := self.cells.get((label, suite))) and (one := cell.estimate())
        }
        if not means:
            return []
        best = max(means, key=lambda label: means[label])
        top = self.cells[best, suite]
        return [label for label in means if label == best or not beats(top, self.cells[label, suite])]

    def pairs(self) -> list[tuple[str, str]]:
        """Which methods to compare, as (minuend, subtrahend)."""
        if len(self.labels) <= ALL_PAIRS_UP_TO:
            return [(later, earlier) for earlier, later in combinations(self.labels, 2)][::-1]
        found = [(label, self.baselines.get(label, self.reference)) for label in self.labels]
        return [(ours, theirs) for ours, theirs in found if ours != theirs]

    @property
    def reference(self) -> str:
        """What a method outside of any comparison is compared with: GRPO, or else the first one's baseline."""
        grpo = next((label for label in self.labels if label.lower() == REFERENCE), None)
        return grpo or next(iter(self.baselines.values()), self.labels[0])

    def difference(self, ours: str, theirs: str, suite: str) -> Difference | None:
        """`ours` minus `theirs` on one suite; None where either was not evaluated."""
        pair = self.cells.get((ours, suite)), self.cells.get((theirs, suite))
        return difference(pair[0], pair[1]) if pair[0] and pair[1] else None


def gather(runs: Runs) -> Results:
    """Merge evaluations: same model = more samples; same method, other training seed = a replicate."""
    notes: list[str] = []
    cells: dict[tuple[str, str], Cell] = {}
    suites: dict[str, bool] = {}  # name -> whether it is an aggregate of others
    for run, label, replicate in _named(runs):
        for part in parts(run):
            suites[part.name] = part.aggregate
            note = _merge(cells.setdefault((label, part.name), Cell()), replicate, run, part)
            notes += [note] if note else []
    labels = sort_labels(label for label, _ in cells)
    aggregates = {name for name, aggregate in suites.items() if aggregate}
    ordered = sorted(suites, key=lambda name: suites[name])
    return Results(labels, ordered, aggregates, cells, notes, _baselines(runs.compare, labels))


def _baselines(compared: Sequence[CompareRun], labels: Sequence[str]) -> dict[str, str]:
    """Each compared method's label with that of its comparison's baseline, where that was evaluated."""
    found: dict[str, str] = {}
    for run in compared:
        results = run.content["results"]
        base = str(results.get(str(run.content.get("baseline")), {}).get("label"))
        found |= {str(entry.get("label")): base for entry in results.values() if base in labels}
    return found


@dataclass(frozen=True)
class Part:
    """One suite of an evaluation, or an aggregate of several, with its scores by problem where kept."""

    name: str
    record: dict[str, Any]
    scores: dict[str, list[float]]
    aggregate: bool = False


def parts(run: EvalRun) -> list[Part]:
    """Every suite of a run, then its aggregates of two sets or more; a family pools its sets' scores."""
    suites = run.results["suites"]
    found = [Part(name, record, run.scores.get(name, {})) for name, record in suites.items()]
    aggregates = run.results.get("aggregates")
    for name, record in aggregates.items() if isinstance(aggregates, dict) else ():
        members = [suite for suite in suites if suites[suite].get("family") == name]
        if isinstance(record, dict) and record.get("sets") != 1:
            pooled = {f"{one}/{key}": s for one in members for key, s in run.scores.get(one, {}).items()}
            found.append(Part(f"all {name}" if members else name, record, pooled, aggregate=True))
    return found


def _merge(cell: Cell, replicate: str, run: EvalRun, part: Part) -> str | None:
    if (replicate, run.seed) in cell.sampled:
        return f"{run.path}: {part.name} was left out; another directory holds the same model and seed."
    cell.stated.setdefault(replicate, part.record)
    cell.sampled.append((replicate, run.seed))
    for problem, scores in part.scores.items():
        cell.scores.setdefault(replicate, {}).setdefault(problem, []).extend(scores)
    return None


def _named(runs: Runs) -> list[tuple[EvalRun, str, str]]:
    """Each evaluation with its method's label and its replicate's name.

    Two different models under one label count as replicates only when their training seeds are known and
    differ; otherwise the directory's name is added to the label: an average of unlike things helps nobody.
    """
    named = []
    owner: dict[tuple[str, str], str] = {}
    for run, replicate in _last_models(runs):
        label = run.label
        if owner.setdefault((label, replicate), run.model) != run.model:
            label = f"{run.label} ({run.path.resolve().name})"
            owner[label, replicate] = run.model
        named.append((run, label, replicate))
    return named


def _last_models(runs: Runs) -> list[tuple[EvalRun, str]]:
    """Evaluations with their replicate; of several checkpoints of one training run only the last counts."""
    keyed = [(run, _replicate(training_seed(run, runs.train)), _place(run)) for run in runs.evaluate]
    last: dict[tuple[str, str], float] = {}
    for run, replicate, place in keyed:
        last[run.label, replicate] = max(place, last.get((run.label, replicate), 0.0))
    return [(run, replicate) for run, replicate, place in keyed if place == last[run.label, replicate]]


def _replicate(seed: int | None) -> str:
    return "only" if seed is None else f"seed {seed}"


def _place(run: EvalRun) -> float:
    step = checkpoint_step(run)
    return math.inf if step is None else float(step)


def checkpoint_step(run: EvalRun) -> int | None:
    """The optimiser step of an evaluated checkpoint-N; None for any other model."""
    found = _CHECKPOINT.fullmatch(run.model.replace("\\", "/").rstrip("/").rpartition("/")[2])
    return int(found[1]) if found else None


def training_seed(run: EvalRun, trained: list[TrainRun]) -> int | None:
    """The seed of the training run whose folder holds the evaluated model, if it can be found."""
    home = Path(run.model).parent
    inside = [other for other in trained if home.resolve() == other.path.resolve()]
    moved = [o for o in trained if o.label == run.label and o.path.resolve().name in Path(run.model).parts]
    if inside or moved:
        return (inside or moved)[0].seed
    try:
        config = json.loads((home / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return config.get("seed") if isinstance(config, dict) and config.get("kind") == "train" else None


def sort_labels(labels: Iterable[str]) -> list[str]:
    """The paper's order for the paper's methods, then the rest as they came."""
    unique = list(dict.fromkeys(labels))
    rank = {name: place for place, name in enumerate(PAPER_ORDER)}
    return sorted(unique, key=lambda label: (rank.get(label.lower(), len(rank)), unique.index(label)))
