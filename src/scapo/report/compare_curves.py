"""Curves that a comparison keeps: the training reward, and what each credit sees of the shortcut."""

from collections.abc import Mapping, Sequence
from typing import Any

from scapo.report.figures import Series, lines
from scapo.report.read import finite
from scapo.report.style import MANY

CHANCE = 0.5  # the area under the curve of a credit that sees nothing
PLOTS = {
    "shortcut_auc_within": ("AUC within a response", "that a token on the shortcut gets less credit", CHANCE),
    "shortcut_auc": ("AUC, whole rollout", "the responses' own rewards are part of it", CHANCE),
    "on_shortcut": ("Advantage on the shortcut", "mean over those tokens", 0.0),
}
WIDTH_EACH = 320


def credit_plots(
    entries: Mapping[str, Mapping[str, Any]], names: Sequence[str], styles: Mapping[str, int], ident: str
) -> list[dict[str, str]]:
    """A plot per credit metric over training, methods with a band of one standard error over seeds."""
    plots = []
    for name, (title, note, level) in PLOTS.items():
        curves = {
            key: curve
            for key, entry in entries.items()
            if name in names and (curve := _curve(_of(_of(entry, "credit"), name)))
        }
        if curves:
            plots.append(_plot(f"{ident} {name}", title, note, entries, curves, styles, level))
    return plots


def reward_plot(
    entries: Mapping[str, Mapping[str, Any]], styles: Mapping[str, int], ident: str
) -> dict[str, str] | None:
    """The training reward, for a comparison whose trainings are not at hand."""
    curves = {key: curve for key, entry in entries.items() if (curve := _curve(entry))}
    if not curves:
        return None
    return _plot(f"{ident} reward", "Reward", "over training", entries, curves, styles, None, percent=True)


def _plot(
    name: str, title: str, note: str, entries: Mapping[str, Mapping[str, Any]],
    curves: Mapping[str, Sequence[tuple[float, float, float]]], styles: Mapping[str, int],
    level: float | None, percent: bool = False,
) -> dict[str, str]:  # fmt: skip
    series = [
        _series(label, styles.get(label, 0), curve, band=len(curves) <= MANY)
        for key, curve in curves.items()
        for label in [str(entries[key].get("label"))]
    ]
    ends = ", ".join(f"{one.label} {one.y[0]:.3g} to {one.y[-1]:.3g}" for one in series)
    last = max(one.x[-1] for one in series)
    svg = lines(
        name, f"{title} over training: {ends}", series, reference=level, percent=percent,
        xlim=(0, last), width=WIDTH_EACH,
    )  # fmt: skip
    return {"title": title, "note": note, "svg": svg}


def _series(label: str, style: int, curve: Sequence[tuple[float, float, float]], band: bool) -> Series:
    steps, values, errors = zip(*curve, strict=True)
    low = [value - error for value, error in zip(values, errors, strict=True)]
    high = [value + error for value, error in zip(values, errors, strict=True)]
    return Series(label, style, list(steps), list(values), band=(low, high) if band and any(errors) else None)


def _curve(holder: Mapping[str, Any]) -> list[tuple[float, float, float]]:
    """`(step, value, error)` of the finite points of a stored curve."""
    points = holder.get("curve")
    found = []
    for point in points if isinstance(points, list) else []:
        if isinstance(point, Mapping):
            step, value = finite(point.get("step")), finite(point.get("value"))
            if step is not None and value is not None:
                found.append((step, value, finite(point.get("stderr")) or 0.0))
    return sorted(found)


def _of(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}
