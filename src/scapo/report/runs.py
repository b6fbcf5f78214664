"""Read run directories into plain values. A run that is still going is read as far as it got, with a note."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scapo.report.apart import in_compared_order, tell_apart
from scapo.report.find import MARKERS, holds, run_directories
from scapo.report.read import finite, numbers_only, read_object, read_objects_of, read_rows


@dataclass(kw_only=True)
class TrainRun:
    """A training run: its resolved config and one row of finite numbers per optimiser step."""

    path: Path
    label: str
    seed: int | None
    config: dict[str, Any]
    metrics: list[dict[str, float]]
    notes: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class EvalRun:
    """An evaluation: the results file, and `scores[suite][problem id]`, a list over samples, where kept."""

    path: Path
    label: str
    seed: int | None
    model: str
    results: dict[str, Any]
    scores: dict[str, dict[str, list[float]]]
    notes: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class DriftRun:
    """A diagnosis: the drift statistics and whole groups of responses for reading."""

    path: Path
    label: str
    drift: dict[str, Any]
    cases: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class CompareRun:
    """A comparison of methods over seeds; its trainings and evaluations are runs of their own."""

    path: Path
    label: str
    content: dict[str, Any]
    notes: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class DecodeRun:
    """Plain against d-filtered decoding; `data` is the file of problems where it is known."""

    path: Path
    label: str
    result: dict[str, Any]
    data: str
    notes: list[str] = field(default_factory=list)


Run = TrainRun | EvalRun | DriftRun | CompareRun | DecodeRun


@dataclass
class Runs:
    """Everything the report is about."""

    train: list[TrainRun] = field(default_factory=list)
    evaluate: list[EvalRun] = field(default_factory=list)
    diagnose: list[DriftRun] = field(default_factory=list)
    compare: list[CompareRun] = field(default_factory=list)
    decode: list[DecodeRun] = field(default_factory=list)

    @property
    def all(self) -> list[Run]:
        return [*self.train, *self.evaluate, *self.diagnose, *self.compare, *self.decode]

    @property
    def notes(self) -> list[str]:
        """Everything a reader should know about missing or unfinished parts, each as a sentence."""
        return [note for run in self.all for note in run.notes]


def load_runs(paths: Iterable[Path | str]) -> Runs:
    """Read every run directory at or below `paths`; a path without any raises a ScapoError naming it."""
    runs = Runs()
    loaders: dict[str, tuple[list[Any], Callable[[Path], Any]]] = {
        "train": (runs.train, _load_train),
        "evaluate": (runs.evaluate, _load_evaluate),
        "diagnose": (runs.diagnose, _load_diagnose),
        "compare": (runs.compare, _load_compare),
        "decode": (runs.decode, _load_decode),
    }
    for path in run_directories(paths):
        for kind, (found, load) in loaders.items():
            if holds(path, kind):
                found.append(load(path))
    tell_apart(runs)
    in_compared_order(runs)
    return runs


def _load_train(path: Path) -> TrainRun:
    config = read_object(path / MARKERS["train"])
    label = _label(config, path)
    notes: list[str] = []
    metrics = [numbers_only(row) for row in read_rows(path / "metrics.jsonl", notes)]
    metrics = sorted((row for row in metrics if "step" in row), key=lambda row: row["step"])
    if not metrics:
        notes.append(f"{path}: no step has been written to metrics.jsonl yet, so this run has no curves.")
    elif not (path / "model").is_dir():
        notes.append(f"{path}: no final model yet; {label} is shown up to step {metrics[-1]['step']:.0f}.")
    return TrainRun(
        path=path, label=label, seed=_int(config.get("seed")), config=config, metrics=metrics, notes=notes
    )


def _load_evaluate(path: Path) -> EvalRun:
    results = read_objects_of(path / MARKERS["evaluate"], "suites", "scapo evaluate")
    suites = results["suites"]
    notes: list[str] = []
    scores: dict[str, dict[str, list[float]]] = {}
    for row in read_rows(path / "samples.jsonl", notes):
        suite, score = str(row.get("suite")), finite(row.get("score"))
        if suite in suites and score is not None:
            scores.setdefault(suite, {}).setdefault(str(row.get("problem_id")), []).append(score)
    label, seed, model = _label(results, path), _int(results.get("seed")), str(results.get("model", ""))
    return EvalRun(
        path=path, label=label, seed=seed, model=model, results=results, scores=scores, notes=notes
    )


def _load_diagnose(path: Path) -> DriftRun:
    drift = read_object(path / MARKERS["diagnose"])
    notes: list[str] = []
    cases = list(read_rows(path / "cases.jsonl", notes))
    return DriftRun(path=path, label=_label(drift, path), drift=drift, cases=cases, notes=notes)


def _load_compare(path: Path) -> CompareRun:
    content = read_objects_of(path / MARKERS["compare"], "results", "scapo compare")
    failures = content.get("failures") or []
    notes = [f"{path}: {len(failures)} of its runs failed; see Comparison."] if failures else []
    return CompareRun(path=path, label=path.resolve().name, content=content, notes=notes)


def _load_decode(path: Path) -> DecodeRun:
    result = read_object(path / MARKERS["decode"])
    settings = path / "settings.json"
    data = read_object(settings).get("data") if settings.is_file() else None
    return DecodeRun(path=path, label=_label(result, path), result=result, data=str(data or ""))


def _label(config: dict[str, Any], path: Path) -> str:
    return str(config.get("label") or path.resolve().name)


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
