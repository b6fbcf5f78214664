"""What made the numbers: commands, settings, seeds, versions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scapo.report.curves import by_label
from scapo.report.results import sort_labels
from scapo.report.runs import CompareRun, DecodeRun, DriftRun, EvalRun, Run, Runs, TrainRun
from scapo.report.text import plural

KINDS = {
    TrainRun: "training",
    EvalRun: "evaluation",
    DriftRun: "diagnosis",
    CompareRun: "comparison",
    DecodeRun: "decoding",
}
IDENTITY = ("label", "output_dir")  # which run it is, told above the settings
LONGEST_LIST = 40  # characters of a list of values in one cell


def setup_view(runs: Runs) -> dict[str, Any]:
    """Per label and kind its commands and facts; settings of the trainings side by side; versions, once if equal.

    A comparison's own command stands in its section.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs.all:
        if not isinstance(run, CompareRun):
            groups.setdefault((KINDS[type(run)], run.label), []).append(run)
    facts = [_facts(kind, label, found) for (kind, label), found in _in_order(groups)]
    return {"runs": facts, "settings": _settings(runs.train), "versions": _versions(runs)}


def _in_order(groups: dict[tuple[str, str], list[Run]]) -> list[tuple[tuple[str, str], list[Run]]]:
    """Kind by kind, the labels of each in the order of all sections."""
    kinds, labels = list(KINDS.values()), sort_labels(label for _, label in groups)
    return sorted(groups.items(), key=lambda item: (kinds.index(item[0][0]), labels.index(item[0][1])))


def source(run: Run) -> Mapping[str, Any]:
    """The JSON file that describes a run."""
    match run:
        case TrainRun():
            return run.config
        case EvalRun():
            return run.results
        case DriftRun():
            return run.drift
        case CompareRun():
            return run.content
        case DecodeRun():
            return run.result


def _facts(kind: str, label: str, runs: Sequence[Run]) -> dict[str, Any]:
    """What is equal is said once, what differs is listed in the order of the runs."""
    each = [_facts_of_one(run) for run in runs]
    names = list(dict.fromkeys(name for facts in each for name in facts))
    return {
        "kind": kind if len(runs) == 1 else f"{len(runs)} {plural(kind)}",
        "label": label,
        "commands": _unlike(command_text(source(run).get("command")) for run in runs),
        "facts": {name: _unlike(facts.get(name) for facts in each) for name in names},
    }


def _facts_of_one(run: Run) -> dict[str, Any]:
    info = source(run)
    facts = {"folder": run.path, **{name: info.get(name) for name in ("seed", "created", "model")}}
    for name in ("data", "sampling"):
        facts |= flatten(info.get(name) or {}, f"{name}.")
    if isinstance(run, DecodeRun):
        facts |= {"data": run.data, "masked mass": info.get("mass")}
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _unlike(values: Iterable[Any]) -> list[str]:
    """Different values, each once, as text; nothing for what is absent everywhere."""
    return list(dict.fromkeys(str(value) for value in values if value not in (None, "")))


def command_text(value: Any) -> str:
    """A command as one line, whether it was kept as a line or as words."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings as dotted names: {"a": {"b": 1}} -> {"a.b": 1}."""
    if not isinstance(value, Mapping):
        return {prefix.rstrip("."): value}
    return {
        key: leaf for name, inner in value.items() for key, leaf in flatten(inner, f"{prefix}{name}.").items()
    }


def _settings(trained: list[TrainRun]) -> dict[str, Any] | None:
    """One row per setting, one column per method; those in which methods differ apart.

    A method's seeds share a column. What only its seeds differ in (the seed, the folder) is told beside the commands.
    """
    methods = by_label(trained)
    columns = {
        label: [flatten(run.config.get("recipe") or {}) for run in found] for label, found in methods.items()
    }
    every = dict.fromkeys(name for found in columns.values() for column in found for name in column)
    names = [name for name in every if name.rpartition(".")[2] not in IDENTITY]
    if not names:
        return None
    rows = [(name, [_texts(found, name) for found in columns.values()]) for name in names]
    return {
        "heads": list(methods),
        "differing": [{"name": name, "cells": cells} for name, cells in rows if len(set(cells)) > 1],
        "equal": [(name, cells[0]) for name, cells in rows if len(set(cells)) == 1],
    }


def _texts(columns: Sequence[Mapping[str, Any]], name: str) -> str:
    """The values of a method's runs; several long ones, such as their folders, are only counted."""
    values = dict.fromkeys(_text(column.get(name)) for column in columns)
    joined = ", ".join(values)
    return joined if len(values) == 1 or len(joined) <= LONGEST_LIST else f"{len(values)} different"


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
    return [{"versions": list(key), "runs": list(dict.fromkeys(names))} for key, names in groups.items()]
