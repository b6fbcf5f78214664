"""The time section: seconds per stage, and what probing costs."""

from collections.abc import Sequence
from typing import Any

from scapo.report.curves import by_label
from scapo.report.runs import Runs, TrainRun
from scapo.report.text import duration, percent, short

STAGES = ("rollout", "reward", "probe", "update")
WHOLE = "step"  # time/step_s, where it is logged, is the sum and not a stage
COLOURS = 6  # of style.css: --t0 to --t5
WIDE = 0.07  # share of the longest bar from which a part has room for its number


def time_view(runs: Runs) -> dict[str, Any] | None:
    """Seconds per stage of every method, as bars and as a table; None when nothing was timed."""
    rows = [row for label, found in by_label(runs.train).items() if (row := _row(label, found))]
    if not rows:
        return None
    longest = max(row["total"] for row in rows)
    others = sorted({stage for row in rows for stage in row["seconds"]} - set(STAGES))
    stages = [stage for stage in (*STAGES, *others) if any(row["seconds"].get(stage) for row in rows)]
    for row in rows:
        row["parts"] = [_part(row, stage, place, longest) for place, stage in enumerate(stages)]
    return {"rows": rows, "stages": stages}


def _part(row: dict[str, Any], stage: str, place: int, longest: float) -> dict[str, Any]:
    seconds = row["seconds"].get(stage, 0.0)
    return {
        "stage": stage,
        "place": min(place, COLOURS - 1),
        "width": round(100 * seconds / longest, 3),
        "text": duration(seconds),
        "share": percent(seconds / row["total"]),
        "per_step": f"{seconds / row['steps']:.3g}",
        "wide": seconds > WIDE * longest,
    }


def _row(label: str, runs: Sequence[TrainRun]) -> dict[str, Any] | None:
    """Totals of one method, averaged over its seeds."""
    steps = [row for run in runs for row in run.metrics]
    seconds = {stage: total / len(runs) for stage, total in _stage_sums(steps).items()}
    total = sum(seconds.values())
    if not total:
        return None
    speeds = [row["tokens_per_second"] for row in steps if "tokens_per_second" in row]
    peaks = [row["memory/peak_gib"] for row in steps if "memory/peak_gib" in row]
    return {
        "label": label,
        "seconds": seconds,
        "total": total,
        "text": duration(total),
        "steps": len(steps) / len(runs),
        "probe_share": _probe_share(steps),
        "speed": short(round(sum(speeds) / len(speeds))) if speeds else "–",
        "peak": short(max(peaks)) if peaks else "–",
    }


def _stage_sums(steps: Sequence[dict[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for row in steps:
        for key, value in row.items():
            stage = key.removeprefix("time/").removesuffix("_s")
            if key == f"time/{stage}_s" and stage != WHOLE:
                sums[stage] = sums.get(stage, 0.0) + value
    return sums


def _probe_share(steps: Sequence[dict[str, float]]) -> str | None:
    """Share of the augmented steps' time that probing took; None for a method that never probes."""
    sums = _stage_sums([row for row in steps if row.get("lambda", 0.0) > 0])
    return percent(sums["probe"] / sum(sums.values())) if sums.get("probe") else None
