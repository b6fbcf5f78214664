"""Two finished evaluations, compared problem by problem."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.results import scores_of
from scapo.evaluate.statistics import paired_difference
from scapo.files import read_jsonl


def compare_runs(a: Path, b: Path) -> dict[str, Any]:
    """`{a, b, suites: {name: paired difference}, warnings}` over what both runs have."""
    results = [_results(path) for path in (a, b)]
    scores = [scores_of(row for _, row in read_jsonl(path / "samples.jsonl")) for path in (a, b)]
    shared = [name for name in results[0]["suites"] if name in scores[0] and name in scores[1]]
    if not shared:
        raise ScapoError(f"{a} and {b} share no set, so they can't be compared. Evaluate both on one suite.")
    suites = {name: asdict(paired_difference(scores[0][name], scores[1][name])) for name in shared}
    if len(shared) > 1:
        pooled = [{f"{n}/{p}": s for n in shared for p, s in one[n].items()} for one in scores]
        suites["all sets"] = asdict(paired_difference(*pooled))
    sides = [{"path": str(path), "label": one["label"]} for path, one in zip((a, b), results, strict=True)]
    return {
        "a": sides[0],
        "b": sides[1],
        "suites": suites,
        "warnings": _unlike(results[0], results[1], shared),
    }


def _results(path: Path) -> dict[str, Any]:
    file = path / "results.json"
    if not file.is_file():
        raise ScapoError(f"{path} holds no results.json. Give two finished output folders of scapo evaluate.")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def _unlike(a: dict[str, Any], b: dict[str, Any], shared: list[str]) -> list[str]:
    """What makes the comparison unfair: other problems, other sampling."""
    found = []
    for name in shared:
        one, two = a["suites"].get(name, {}), b["suites"].get(name, {})
        differing = [
            key
            for key in ("digest", "samples", "temperature", "top_p", "max_tokens")
            if one.get(key) != two.get(key)
        ]
        if differing:
            found.append(f"{name}: the runs differ in {', '.join(differing)}.")
    return found
