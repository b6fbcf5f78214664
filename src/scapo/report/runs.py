"""Read run directories into plain values. A run that is still going is read as far as it got, with a note."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError

MARKERS = {"train": "config.json", "evaluate": "results.json", "diagnose": "drift.json"}
REMEDY = (
    "Give the output directory of scapo train, evaluate or diagnose; an interrupted command writes its file "
    "when it is run again."
)
SEARCH_DEPTH = 3  # how far below a given folder its run directories may lie


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


@dataclass
class Runs:
    """Everything the report is about."""

    train: list[TrainRun] = field(default_factory=list)
    evaluate: list[EvalRun] = field(default_factory=list)
    diagnose: list[DriftRun] = field(default_factory=list)

    @property
    def all(self) -> list[TrainRun | EvalRun | DriftRun]:
        return [*self.train, *self.evaluate, *self.diagnose]

    @property
    def notes(self) -> list[str]:
        """Everything a reader should know about missing or unfinished parts, each as a sentence."""
        return [note for run in self.all for note in run.notes]


def load_runs(paths: Iterable[Path | str]) -> Runs:
    """Read every run directory at or below `paths`; a path without any raises a ScapoError naming it."""
    runs = Runs()
    for path in _run_directories(paths):
        if _holds(path, "train"):
            runs.train.append(_load_train(path))
        if _holds(path, "evaluate"):
            runs.evaluate.append(_load_evaluate(path))
        if _holds(path, "diagnose"):
            runs.diagnose.append(_load_diagnose(path))
    return runs


def _run_directories(paths: Iterable[Path | str]) -> list[Path]:
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            raise ScapoError(
                f"{path} is not a directory. Give the output directories of earlier scapo commands."
            )
        here = _search(path, SEARCH_DEPTH)
        if not here:
            raise ScapoError(
                f"{path} holds none of {', '.join(MARKERS.values())}, nor do its subfolders. {REMEDY}"
            )
        found.update((run.resolve(), run) for run in here)
    return list(found.values())


def _search(path: Path, depth: int) -> list[Path]:
    """`path` itself when it is a run, otherwise the runs below it in name order."""
    if any(_holds(path, kind) for kind in MARKERS):
        return [path]
    if depth == 0:
        return []
    children = sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))
    return [run for child in children for run in _search(child, depth - 1)]


def _holds(path: Path, kind: str) -> bool:
    """Whether a folder is a run of that kind. A model has a config.json too: only ours says what it is."""
    file = path / MARKERS[kind]
    if kind != "train" or not file.is_file():
        return file.is_file()
    try:
        config = json.loads(file.read_text(encoding="utf-8", errors="replace"))
    except ValueError:
        return True  # reading it says what is wrong with it
    return isinstance(config, dict) and config.get("kind") == "train"


def _load_train(path: Path) -> TrainRun:
    config = read_object(path / MARKERS["train"])
    label = _label(config, path)
    notes: list[str] = []
    metrics = [numbers_only(row) for row in _read_rows(path / "metrics.jsonl", notes)]
    metrics = sorted((row for row in metrics if "step" in row), key=lambda row: row["step"])
    if not metrics:
        notes.append(f"{path}: no step has been written to metrics.jsonl yet, so {label} has no curves.")
    elif not (path / "model").is_dir():
        notes.append(f"{path}: no final model yet; {label} is shown up to step {metrics[-1]['step']:.0f}.")
    return TrainRun(
        path=path, label=label, seed=_int(config.get("seed")), config=config, metrics=metrics, notes=notes
    )


def _load_evaluate(path: Path) -> EvalRun:
    results = read_object(path / MARKERS["evaluate"])
    suites = results.get("suites")
    if not isinstance(suites, dict) or not all(isinstance(suite, dict) for suite in suites.values()):
        raise ScapoError(
            f"{path / MARKERS['evaluate']}: 'suites' must be an object of objects. Run scapo evaluate again."
        )
    notes: list[str] = []
    scores: dict[str, dict[str, list[float]]] = {}
    for row in _read_rows(path / "samples.jsonl", notes):
        score = row.get("score")
        if row.get("suite") in suites and isinstance(score, int | float) and math.isfinite(score):
            scores.setdefault(row["suite"], {}).setdefault(str(row.get("problem_id")), []).append(
                float(score)
            )
    label, seed, model = _label(results, path), _int(results.get("seed")), str(results.get("model", ""))
    return EvalRun(
        path=path, label=label, seed=seed, model=model, results=results, scores=scores, notes=notes
    )


def _load_diagnose(path: Path) -> DriftRun:
    drift = read_object(path / MARKERS["diagnose"])
    notes: list[str] = []
    cases = list(_read_rows(path / "cases.jsonl", notes))
    return DriftRun(path=path, label=_label(drift, path), drift=drift, cases=cases, notes=notes)


def read_object(path: Path) -> dict[str, Any]:
    """One JSON object from a file; anything else raises a ScapoError naming the file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ScapoError(f"{path}: not valid JSON ({error}). Run the command that wrote it again.") from error
    if not isinstance(value, dict):
        raise ScapoError(f"{path}: expected a JSON object, found {type(value).__name__}.")
    return value


def _read_rows(path: Path, notes: list[str]) -> Iterable[dict[str, Any]]:
    """Rows of a JSONL file. A missing file or a torn last line leaves a note; a bad line inside raises."""
    if not path.is_file():
        notes.append(f"{path} is missing, so what it would show is left out.")
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                if not line.endswith(b"\n"):
                    notes.append(
                        f"{path}: the last line is cut off and was left out (stopped while writing)."
                    )
                    return
                raise ScapoError(
                    f"{path}, line {number}: not valid JSON ({error}). Mend or remove the line."
                ) from error
            if not isinstance(value, dict):
                raise ScapoError(
                    f"{path}, line {number}: expected a JSON object, found {type(value).__name__}."
                )
            yield value


def numbers_only(row: dict[str, Any]) -> dict[str, float]:
    """The finite numbers of a row; text, null, NaN and booleans are left out."""
    return {
        key: float(value)
        for key, value in row.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }


def _label(config: dict[str, Any], path: Path) -> str:
    return str(config.get("label") or path.resolve().name)


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
