"""The drift section: how far and where probabilities move when only the wording does."""

from collections.abc import Mapping
from typing import Any

from scapo.report.figures import Dot, dots, histogram
from scapo.report.runs import DriftRun
from scapo.report.text import percent, short

CLASS_STYLE, KIND_STYLE = 2, 1  # series colours of the two dot plots


def drift_view(run: DriftRun, number: int) -> dict[str, Any]:
    """Everything the template needs of one diagnosis; parts that the file lacks are None or empty."""
    drift = run.drift
    mean, floor = _estimate(drift.get("mean")), drift.get("noise_floor")
    return {
        "label": run.label,
        "model": drift.get("model", ""),
        "counts": {name: short(drift[name]) for name in ("problems", "responses", "tokens") if name in drift},
        "tiles": _tiles(drift, mean, floor),
        "direction": _direction(drift.get("direction")),
        "plots": [
            plot for plot in (_classes(run, number), _histogram(run, number), _kinds(run, number)) if plot
        ],
        "classes": [_class_row(row) for row in drift.get("classes") or []],
    }


def _estimate(value: Any) -> Mapping[str, float] | None:
    return value if isinstance(value, Mapping) and isinstance(value.get("value"), int | float) else None


def _tiles(drift: Mapping[str, Any], mean: Mapping[str, float] | None, floor: Any) -> list[dict[str, str]]:
    tiles = []
    if mean:
        tiles.append(
            {
                "name": "mean drift d",
                "value": short(mean["value"]),
                "note": f"95 % interval {_interval(mean)}",
            }
        )
    if isinstance(drift.get("share_zero"), int | float):
        tiles.append(
            {
                "name": "tokens with d = 0",
                "value": f"{percent(drift['share_zero'])} %",
                "note": "under every rewrite",
            }
        )
    if isinstance(floor, int | float):
        tiles.append(
            {
                "name": "noise floor",
                "value": short(floor),
                "note": "mean d of the unchanged prompt against itself",
            }
        )
    if mean and isinstance(floor, int | float):
        ratio = short(round(mean["value"] / floor, 1)) if floor > 0 else "∞"
        tiles.append(
            {"name": "signal to noise", "value": ratio, "note": "near 1 the drift is numerical noise"}
        )
    return tiles


def _interval(value: Mapping[str, Any]) -> str:
    if value.get("low") is None:
        return "–"
    return f"{short(value.get('low'))} to {short(value.get('high'))}"


def _direction(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, Mapping):
        return []
    names = {"down": "fell", "unchanged": "unchanged", "up": "rose"}
    return [
        {
            "name": names[key],
            "key": key,
            "width": round(100 * value[key], 3),
            "text": f"{percent(value[key])} %",
        }
        for key in names
        if isinstance(value.get(key), int | float)
    ]


def _classes(run: DriftRun, number: int) -> dict[str, str] | None:
    rows = [row for row in run.drift.get("classes") or [] if isinstance(row.get("value"), int | float)]
    mean = _estimate(run.drift.get("mean"))
    if not rows:
        return None
    points = [
        Dot(str(row["class"]), CLASS_STYLE, row["value"], row.get("low"), row.get("high")) for row in rows
    ]
    alt = "Mean drift by token class: " + ", ".join(f"{point.label} {point.value:.3g}" for point in points)
    svg = dots(f"classes {number}", alt, points, reference=mean["value"] if mean else None, zero=True)
    return {
        "title": "Mean drift by token class",
        "note": "95 % interval over problems; dashed: all tokens",
        "svg": svg,
    }


def _kinds(run: DriftRun, number: int) -> dict[str, str] | None:
    kinds = {
        kind: value for kind, one in (run.drift.get("per_kind") or {}).items() if (value := _estimate(one))
    }
    if not kinds:
        return None
    points = [
        Dot(k.replace("_", " "), KIND_STYLE, v["value"], v.get("low"), v.get("high"))
        for k, v in kinds.items()
    ]
    alt = "Mean drift by kind of rewrite: " + ", ".join(
        f"{point.label} {point.value:.3g}" for point in points
    )
    svg = dots(f"kinds {number}", alt, points, zero=True)
    return {"title": "Mean drift by kind of rewrite", "note": "95 % interval over problems", "svg": svg}


def _histogram(run: DriftRun, number: int) -> dict[str, str] | None:
    found = run.drift.get("histogram")
    counts, edges = (found.get("counts"), found.get("edges")) if isinstance(found, Mapping) else (None, None)
    if not counts or not edges or len(edges) != len(counts) + 1 or not sum(counts):
        return None
    total, zero = sum(counts), run.drift.get("share_zero")
    shares = [count / total for count in counts]
    if isinstance(zero, int | float):
        shares[0] = max(0.0, shares[0] - zero)
    mean = _estimate(run.drift.get("mean"))
    alt = f"Distribution of drift over {total} tokens" + (f", mean {mean['value']:.3g}" if mean else "")
    marks = {"mean": mean["value"]} if mean else {}
    svg = histogram(f"histogram {number}", alt, edges, shares, zero_share=zero, marks=marks)
    return {
        "title": "Distribution of drift",
        "note": "share of tokens; the grey bar: d exactly 0",
        "svg": svg,
    }


def _class_row(row: Mapping[str, Any]) -> dict[str, str]:
    relative = row.get("relative")
    return {
        "name": str(row.get("class")),
        "tokens": short(row.get("tokens")),
        "share": percent(row.get("share")),
        "value": short(row.get("value")),
        "interval": _interval(row),
        "relative": f"{relative:.2f}" if isinstance(relative, int | float) else "–",
    }
