"""Many methods over training: a small plot for each, beside the method it is compared with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from scapo.report.curves import Methods, curve
from scapo.report.figures import Series, lines

KEY = "reward/mean"
WIDTH_EACH = 250
Span = tuple[float, float]  # first and last step


@dataclass(frozen=True)
class Scene:
    """What all curves share: the longest augmentation phase and the last step of any run."""

    augmented: Span | None
    last: float
    many: bool = False  # many methods: no bands where all are in one plot


def each_view(
    methods: Methods, styles: dict[str, int], scene: Scene, spans: dict[str, Span], reference: str
) -> dict[str, Any] | None:
    """The reward of every method in a plot of its own: it and the reference in colour, all others faint."""
    found = [curve(label, styles[label], runs, KEY) for label, runs in methods.items()]
    series = {one.label: replace(one, raw=None) for one in found if one is not None}
    if not series:
        return None
    limits = _limits(list(series.values()))
    shown = [label for label in series if label != reference]
    return {
        "reference": {"label": reference, "style": styles[reference]} if reference in series else None,
        "plots": [
            _plot(label, series, reference, replace(scene, augmented=spans.get(label)), limits)
            for label in shown
        ],
    }


def _plot(
    label: str, series: dict[str, Series], reference: str, scene: Scene, limits: tuple[float, float]
) -> dict[str, Any]:
    ours, theirs = series[label], series.get(reference)
    behind = [replace(one, faint=True) for one in series.values() if one is not ours and one is not theirs]
    alt = f"Reward of {label} over training: {ours.y[0]:.3g} to {ours.y[-1]:.3g}"
    alt += f"; {reference} {theirs.y[0]:.3g} to {theirs.y[-1]:.3g}" if theirs else ""
    svg = lines(
        f"each {label}", alt, [*behind, *([theirs] if theirs else []), ours], shaded=scene.augmented,
        percent=True, xlim=(0, scene.last), ylim=limits, width=WIDTH_EACH,
    )  # fmt: skip
    return {"title": label, "note": "", "style": ours.style, "svg": svg}


def _limits(series: Sequence[Series]) -> tuple[float, float]:
    """One range of values for all plots, so that they can be compared by eye."""
    values = [value for one in series for part in (one.y, *(one.band or ())) for value in part]
    margin = 0.05 * (max(values) - min(values)) or 0.05
    return min(values) - margin, max(values) + 3 * margin  # room for the label above the lines
