"""The decoding section: plain against d-filtered sampling on the same problems (the paper's table 5)."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from scapo.report.decode_figures import Change, Step, changes, steps
from scapo.report.figures import power
from scapo.report.read import finite
from scapo.report.runs import DecodeRun
from scapo.report.statistics import Estimate
from scapo.report.text import percent, points, short

OUTCOMES = ("both", "lost", "gained", "neither")
SMALL = 1e-4  # p below which only its order of magnitude is told
FALSE_ALARM = 0.05  # McNemar's p from which a difference counts as noise


def decode_view(runs: Sequence[DecodeRun]) -> dict[str, Any] | None:
    """A table row per output, a plot of accuracies, and one of what was gained and lost."""
    rows = [row for run, name in zip(runs, _names(runs), strict=True) if (row := _row(run, name))]
    if not rows:
        return None
    shown = [row["shown"] for row in rows]
    return {
        "rows": rows,
        "masses": sorted({row["mass"] for row in rows}),
        "plots": [_accuracies(shown), _changes(shown)],
        "alike": len({run.label for run in runs}) == 1,
    }


def _names(runs: Sequence[DecodeRun]) -> list[str]:
    """What tells the outputs apart: the model, the problems, or else the folder."""
    data = [PurePath(run.data).name.split(".")[0] for run in runs]
    labels = {run.label for run in runs}
    names = [
        (one if len(labels) == 1 else f"{run.label}, {one}") if one else run.label
        for run, one in zip(runs, data, strict=True)
    ]
    return [
        name if names.count(name) == 1 else f"{name} ({run.path.resolve().name})"
        for run, name in zip(runs, names, strict=True)
    ]


def _row(run: DecodeRun, name: str) -> dict[str, Any] | None:
    """None without the counts, which everything else follows from."""
    counts = {key: int(finite(run.result.get(key)) or 0) for key in OUTCOMES}
    total = sum(counts.values())
    if not total:
        return None
    plain, filtered = (counts["both"] + counts["lost"]) / total, (counts["both"] + counts["gained"]) / total
    gain = Estimate(filtered - plain, finite(run.result.get("stderr")), total, "problems")
    interval = gain.interval()
    p = finite(run.result.get("mcnemar_p"))
    return {
        "name": name,
        "label": run.label,
        "total": f"{total:,}",
        "counts": counts,
        "plain": percent(plain),
        "filtered": percent(filtered),
        "difference": points(gain.mean),
        "interval": f"{points(interval[0])} to {points(interval[1])}" if interval else "no interval",
        "p": p_text(p),
        "verdict": _verdict(p, gain.mean),
        "rejections": short(finite(run.result.get("rejections_per_response"))),
        "rejected_steps": percent(finite(run.result.get("rejections_per_step"))),
        "tokens": _pair(run.result.get("mean_tokens")),
        "mass": short(finite(run.result.get("mass"))),
        "shown": (name, plain, filtered, counts["lost"], counts["gained"]),
    }


def p_text(p: float | None) -> str:
    """0.0162 -> "0.016", 1.2e-7 -> "1 × 10⁻⁷"."""
    if p is None:
        return "–"
    if p >= SMALL:
        return f"{p:.2g}"
    mantissa, _, exponent = f"{p:.0e}".partition("e")
    return f"{mantissa} × {power(int(exponent))}" if p > 0 else "0"


def _verdict(p: float | None, gain: float) -> str:
    if p is None:
        return "unknown"
    return "noise" if p >= FALSE_ALARM else "higher" if gain > 0 else "lower"


def _pair(value: Any) -> str:
    """Mean lengths, plain and filtered."""
    found = value if isinstance(value, Mapping) else {}
    both = [finite(found.get(mode)) for mode in ("plain", "filtered")]
    return "–" if None in both else " / ".join(f"{one:.1f}" for one in both)


def _accuracies(rows: Sequence[tuple[str, float, float, int, int]]) -> dict[str, str]:
    told = ", ".join(
        f"{name} {percent(plain)} to {percent(filtered)} percent" for name, plain, filtered, *_ in rows
    )
    svg = steps(
        "decode accuracy", f"Accuracy from plain to filtered: {told}", [Step(*row[:3]) for row in rows]
    )
    return {"title": "Accuracy", "note": "grey: plain sampling, coloured: drift-filtered", "svg": svg}


def _changes(rows: Sequence[tuple[str, float, float, int, int]]) -> dict[str, str]:
    told = ", ".join(f"{name} {lost} lost, {gained} gained" for name, _, _, lost, gained in rows)
    bars = [Change(name, lost, gained) for name, _, _, lost, gained in rows]
    svg = changes("decode changes", f"Problems solved by one way only: {told}", bars)
    return {
        "title": "Solved by one way only",
        "note": "left: plain only (lost), right: filtered only (gained)",
        "svg": svg,
    }
