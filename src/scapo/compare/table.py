"""From the finished cells of a grid to numbers over seeds. A seed is one unit; pairs share their seed.

Reward is only measured where a step samples (every second step in the paper's setting).
"""

import json
import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from scapo.compare.grid import Cell
from scapo.files import read_jsonl

FINAL_SHARE = 0.1
"""Share of a training's rollouts whose mean reward is its final one, and the width of the running mean."""
TRAIN = "train/reward"
"""The name under which the final training reward stands beside the test sets."""
WHOLE = "train/mean"
"""Likewise the mean reward over the whole training: high where a method learns early, and little noise in it."""
AVERAGE = "average"
"""The name of the plain mean over the test sets, where there are two or more."""
EARLY_SHARE = 0.2
"""Share of a training in which its credit is judged: the paper's augmentation phase, where policies still agree."""
CREDIT = ("shortcut_auc", "shortcut_auc_within", "on_shortcut", "off_shortcut")
"""What the embedded world knows about a credit (metrics `credit/...`, docs/methods.md)."""

Curve = list[tuple[int, float]]


def mean_over_seeds(values: Sequence[float]) -> dict[str, Any]:
    """Mean and standard error, sd (ddof 1) / sqrt(seeds); the error is None for one seed."""
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return {"value": fmean(values), "stderr": error, "seeds": len(values)}


def paired_over_seeds(ours: Mapping[int, float], base: Mapping[int, float]) -> dict[str, Any] | None:
    """Mean of ours - base over the seeds both have, with a 95 % t interval; None without a shared seed."""
    from scipy.special import stdtrit

    gains = [ours[seed] - base[seed] for seed in sorted(ours) if seed in base]
    if not gains:
        return None
    found = mean_over_seeds(gains)
    low = high = None
    if found["stderr"] is not None:
        half = float(stdtrit(len(gains) - 1, 0.975)) * found["stderr"]
        low, high = found["value"] - half, found["value"] + half
    return found | {"low": low, "high": high}


def final_reward(curve: Curve) -> float:
    """Mean reward over the last tenth of the rollouts (at least one)."""
    return fmean(reward for _, reward in curve[-_width(curve) :])


def steps_to_reach(curve: Curve, reward: float) -> int | None:
    """The first step at which the running mean (over a tenth of the rollouts) is at least `reward`."""
    width = _width(curve)
    for stop in range(width, len(curve) + 1):
        if fmean(value for _, value in curve[stop - width : stop]) >= reward:
            return curve[stop - 1][0]
    return None


def _width(curve: Curve) -> int:
    return max(1, round(FINAL_SHARE * len(curve)))


def read_cell(cell: Cell) -> dict[str, Any]:
    """One finished cell: `{scores: {set: accuracy}, curve, credit, steps, seconds_per_step}`."""
    rows = [row for _, row in read_jsonl(cell.folder / "metrics.jsonl")]
    curve = _column(rows, "reward/mean")
    path = cell.folder / "evaluate" / "results.json"
    found = json.loads(path.read_text(encoding="utf-8")) if "evaluate" in cell.stages else {}
    scores = {name: entry["accuracy"] for name, entry in found.get("suites", {}).items()}
    if len(scores) > 1:
        scores[AVERAGE] = fmean(scores.values())
    spent = sum(value for row in rows for name, value in row.items() if name.startswith("time/"))
    if curve:
        scores[TRAIN] = final_reward(curve)
        scores[WHOLE] = fmean(reward for _, reward in curve)
    return {
        "scores": scores,
        "curve": curve,
        "credit": {name: points for name in CREDIT if (points := _column(rows, f"credit/{name}"))},
        "steps": len(rows),
        "seconds_per_step": spent / max(1, len(rows)),
    }


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> Curve:
    return [(row["step"], row[name]) for row in rows if name in row]


def compare_runs(cells: Sequence[Cell], baseline: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The `results` of compare.json (docs/files.md) from finished cells."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for cell in cells:
        found.setdefault(cell.method, {})[cell.seed] = read_cell(cell)
    base = found.get(baseline, {})
    return {
        method: {"label": labels[method], **_of_method(runs, base, method == baseline)}
        for method, runs in found.items()
    }


def _of_method(
    runs: dict[int, dict[str, Any]], base: dict[int, dict[str, Any]], is_base: bool
) -> dict[str, Any]:
    sets = list(dict.fromkeys(name for run in runs.values() for name in run["scores"]))
    by_set = {name: _scores(runs, name) for name in sets}
    against = {name: paired_over_seeds(by_set[name], _scores(base, name)) for name in sets}
    return {
        "seeds": {str(seed): run["scores"] for seed, run in runs.items()},
        "mean": {name: mean_over_seeds(list(values.values())) for name, values in by_set.items()},
        "difference": {} if is_base else {name: gain for name, gain in against.items() if gain is not None},
        "steps_to_baseline": _reached(runs, base),
        "seconds_per_step": mean_over_seeds([run["seconds_per_step"] for run in runs.values()]),
        "curve": mean_curve([run["curve"] for run in runs.values()]),
        "credit": {
            name: _credit(runs, name)
            for name in CREDIT
            if any(name in run["credit"] for run in runs.values())
        },
    }


def _credit(runs: dict[int, dict[str, Any]], name: str) -> dict[str, Any]:
    """One credit metric: its mean over the early steps by seed and over seeds, and its curve."""
    have = {seed: run for seed, run in runs.items() if name in run["credit"]}
    early = {str(seed): _early(run["credit"][name], run["steps"]) for seed, run in have.items()}
    return {
        "seeds": early,
        "early": mean_over_seeds(list(early.values())),
        "curve": mean_curve([run["credit"][name] for run in have.values()]),
    }


def _early(curve: Curve, steps: int) -> float:
    """Mean over the first fifth of the steps (at least the first measured one)."""
    return fmean([value for step, value in curve if step <= EARLY_SHARE * steps] or [curve[0][1]])


def _scores(runs: dict[int, dict[str, Any]], name: str) -> dict[int, float]:
    return {seed: run["scores"][name] for seed, run in runs.items() if name in run["scores"]}


def _reached(runs: dict[int, dict[str, Any]], base: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Steps to the baseline's final training reward with the same seed; seeds that never got there are told."""
    steps = {
        str(seed): steps_to_reach(run["curve"], base[seed]["scores"][TRAIN])
        for seed, run in runs.items()
        if TRAIN in base.get(seed, {"scores": {}})["scores"]
    }
    arrived = [step for step in steps.values() if step is not None]
    return {"seeds": steps, "reached": len(arrived), "mean": fmean(arrived) if arrived else None}


def mean_curve(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """`{step, value, stderr, seeds}` at each step that any seed measured."""
    at: dict[int, list[float]] = {}
    for curve in curves:
        for step, reward in curve:
            at.setdefault(step, []).append(reward)
    return [{"step": step, **mean_over_seeds(at[step])} for step in sorted(at)]
