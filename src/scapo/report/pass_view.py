"""pass@k curves from the evaluations' own estimates."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scapo.report.cells import Cell
from scapo.report.figures import Series, powers
from scapo.report.results import Results
from scapo.report.style import MANY


def pass_views(results: Results, styles: dict[str, int]) -> list[dict[str, str]]:
    """A plot per suite that has pass@k for two k or more."""
    return [plot for suite in results.suites if (plot := _plot(results, suite, styles))]


def _plot(results: Results, suite: str, styles: dict[str, int]) -> dict[str, str] | None:
    cells = {label: results.cells.get((label, suite)) for label in results.labels}
    curves = {label: found for label, cell in cells.items() if cell and len(found := pass_curve(cell)) > 1}
    if not curves:
        return None
    series = [_series(label, styles[label], curve) for label, curve in curves.items()]
    if len(series) > MANY:
        series = [replace(one, band=None) for one in series]
    ends = ", ".join(f"{one.label} {one.y[-1]:.3g} at k = {one.x[-1]:.0f}" for one in series)
    svg = powers(f"pass {suite}", f"pass@k on {suite}: {ends}", series)
    return {"title": suite, "note": "", "svg": svg}


def _series(label: str, style: int, curve: Mapping[int, tuple[float, float | None, float | None]]) -> Series:
    lows = [value if low is None else low for value, low, _ in curve.values()]
    highs = [value if high is None else high for value, _, high in curve.values()]
    return Series(label, style, list(curve), [value for value, *_ in curve.values()], band=(lows, highs))


def pass_curve(cell: Cell) -> dict[int, tuple[float, float | None, float | None]]:
    """k -> (value, low, high); over several trained models the mean of their values, without a band."""
    curves = [_stated(record.get("pass_at_k")) for record in cell.stated.values()]
    if len(curves) == 1:
        return curves[0]
    shared = set.intersection(*map(set, curves)) if curves else set()
    return {k: (math.fsum(curve[k][0] for curve in curves) / len(curves), None, None) for k in sorted(shared)}


def _stated(value: Any) -> dict[int, tuple[float, float | None, float | None]]:
    curve = {}
    for k, one in value.items() if isinstance(value, Mapping) else ():
        if str(k).isdecimal() and isinstance(one, Mapping) and isinstance(one.get("value"), int | float):
            curve[int(k)] = (one["value"], one.get("low"), one.get("high"))
    return dict(sorted(curve.items()))
