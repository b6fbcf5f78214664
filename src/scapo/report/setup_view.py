"""What made the numbers: commands, settings, seeds, versions."""

from collections.abc import Mapping
from typing import Any

from scapo.report.runs import DriftRun, EvalRun, Runs, TrainRun

KINDS = {TrainRun: "training", EvalRun: "evaluation", DriftRun: "diagnosis"}


def setup_view(runs: Runs) -> dict[str, Any]:
    """Per run its command and facts; settings of the training runs side by side; versions, once if equal."""
    facts = [_facts(run) for run in runs.all]
    return {"runs": facts, "settings": _settings(runs.train), "versions": _versions(runs)}


def source(run: TrainRun | EvalRun | DriftRun) -> Mapping[str, Any]:
    """The JSON file that describes a run."""
    if isinstance(run, TrainRun):
        return run.config
    return run.results if isinstance(run, EvalRun) else run.drift


def _facts(run: TrainRun | EvalRun | DriftRun) -> dict[str, Any]:
    info = source(run)
    facts = {"seed": info.get("seed"), "created": info.get("created"), "model": info.get("model")}
    for name in ("data", "sampling"):
        facts |= flatten(info.get(name) or {}, f"{name}.")
    return {
        "kind": KINDS[type(run)],
        "label": run.label,
        "path": str(run.path),
        "command": _command(info.get("command")),
        "facts": {name: str(value) for name, value in facts.items() if value is not None},
    }


def _command(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings as dotted names: {"a": {"b": 1}} -> {"a.b": 1}."""
    if not isinstance(value, Mapping):
        return {prefix.rstrip("."): value}
    return {
        key: leaf for name, inner in value.items() for key, leaf in flatten(inner, f"{prefix}{name}.").items()
    }


def _settings(trained: list[TrainRun]) -> dict[str, Any] | None:
    """One row per setting, one column per run; those in which runs differ apart."""
    columns = [flatten(run.config.get("recipe") or {}) for run in trained]
    names = list(dict.fromkeys(name for column in columns for name in column))
    if not names:
        return None
    rows = [(name, [_text(column.get(name)) for column in columns]) for name in names]
    return {
        "heads": [run.label if run.seed is None else f"{run.label}, seed {run.seed}" for run in trained],
        "differing": [{"name": name, "cells": cells} for name, cells in rows if len(set(cells)) > 1],
        "equal": [(name, cells[0]) for name, cells in rows if len(set(cells)) == 1],
    }


def _text(value: Any) -> str:
    return "–" if value is None else str(value)


def _versions(runs: Runs) -> list[dict[str, Any]]:
    """Groups of runs with equal versions: one group in the good case."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for run in runs.all:
        found = source(run).get("versions")
        if isinstance(found, Mapping):
            key = tuple((str(name), str(version)) for name, version in found.items())
            groups.setdefault(key, []).append(run.path.name)
    return [{"versions": list(key), "runs": names} for key, names in groups.items()]
