"""The shapes of plot that the report uses. Data in, inline SVG out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from scapo.report.style import (
    ACCENT,
    DASHES,
    INK,
    MARKERS,
    MUTED,
    PAPER,
    SERIES,
    SHADE,
    WIDTH,
    draw,
    of_method,
)

MAX_LABEL = 26
EDGE = 0.02  # how far the axis of a share goes beyond 0 and 1
PERCENT = FuncFormatter(lambda value, _: f"{100 * value:.4g}%")


@dataclass(frozen=True)
class Series:
    """One line: `x` and `y` to draw, `raw` points behind a smoothed line, `band` (low, high) around it."""

    label: str
    style: int
    x: Sequence[float]
    y: Sequence[float]
    raw: Sequence[float] | None = None
    band: tuple[Sequence[float], Sequence[float]] | None = None
    dotted: bool = False  # an auxiliary line, such as a noise floor
    points: bool = False  # few measured points: markers, and the band as error bars
    faint: bool = False  # one of the others, behind the line that the plot is about


@dataclass(frozen=True)
class Dot:
    """One row of a dot plot: a value and its interval."""

    label: str
    style: int
    value: float
    low: float | None = None
    high: float | None = None


def lines(
    name: str,
    alt: str,
    series: Sequence[Series],
    *,
    shaded: tuple[float, float] | None = None,
    percent: bool = False,
    zero: bool = False,
    xlim: tuple[float | None, float | None] = (None, None),
    ylim: tuple[float | None, float | None] = (None, None),
    reference: float | None = None,
    width: int = WIDTH,
) -> str:
    """Curves over optimiser steps, with the augmentation phase shaded behind them."""

    def paint(axes: Axes) -> None:
        if shaded:
            _shade(axes, *shaded)
        if reference is not None:
            axes.axhline(reference, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        measured = [one for one in series if one.points]
        for one in series:
            _line(axes, _beside(one, measured) if one.points else one)
        axes.set_xlim(*xlim)
        axes.set_xlabel("optimiser step")
        axes.grid(axis="y")
        axes.xaxis.set_major_locator(MaxNLocator(max(3, width // 66), integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        if percent:
            axes.yaxis.set_major_formatter(PERCENT)
        axes.set_ylim(*ylim)
        if zero:
            axes.set_ylim(bottom=0)
        if shaded and ylim == (None, None):
            low, high = axes.get_ylim()
            axes.set_ylim(low, high + 0.1 * (high - low))  # room for the label above the lines

    return draw(name, alt, {WIDTH: 230}.get(width, 40 + width // 2), paint, width)


def powers(name: str, alt: str, series: Sequence[Series]) -> str:
    """Curves over k on a logarithmic axis whose ticks are the measured k."""

    def paint(axes: Axes) -> None:
        for one in series:
            _line(axes, one)
        axes.set_xscale("log", base=2)
        ticks = sorted({x for one in series for x in one.x})[
            :: max(1, max(len(one.x) for one in series) // 5)
        ]
        axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("k")
        axes.grid(axis="y")
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.yaxis.set_major_formatter(PERCENT)

    return draw(name, alt, 140, paint, 200)


def _shade(axes: Axes, start: float, stop: float) -> None:
    axes.axvspan(start, stop, color=SHADE, linewidth=0, zorder=0)
    axes.annotate(
        "λ > 0", ((start + stop) / 2, 1), xycoords=("data", "axes fraction"), xytext=(0, -3),
        textcoords="offset points", ha="center", va="top", color=MUTED, fontsize=10,
    )  # fmt: skip


def _beside(one: Series, measured: Sequence[Series]) -> Series:
    """The series moved sideways a little, so that error bars at the same step do not hide each other."""
    reach = max(max(other.x) for other in measured) or 1.0
    shift = min(0.018, 0.12 / len(measured)) * reach * (measured.index(one) - (len(measured) - 1) / 2)
    return replace(one, x=[x + shift for x in one.x])


def _line(axes: Axes, one: Series) -> None:
    if one.faint:
        axes.plot(one.x, one.y, color=MUTED, linewidth=0.8, alpha=0.35, zorder=1)
        return
    colour, mark = SERIES[one.style], of_method(one.style)
    if one.raw is not None:
        axes.plot(one.x, one.raw, color=colour, linewidth=0.8, alpha=0.28, gid=mark)
    if one.band is not None and one.points:
        low, high = np.asarray(one.band[0]), np.asarray(one.band[1])
        axes.vlines(one.x, low, high, color=colour, linewidth=1.5, clip_on=False, gid=mark)
    elif one.band is not None:
        axes.fill_between(one.x, one.band[0], one.band[1], color=colour, alpha=0.18, linewidth=0, gid=mark)
    axes.plot(
        one.x, one.y, color=colour, linewidth=1.2 if one.dotted else 2,
        linestyle=":" if one.dotted else DASHES[one.style], alpha=0.9,
        marker=MARKERS[one.style] if one.points or len(one.x) == 1 else None, markersize=5,
        clip_on=not one.points, gid=mark,
    )  # fmt: skip


def dots(
    name: str, alt: str, rows: Sequence[Dot], *, percent: bool = False, reference: float | None = None,
    xlabel: str = "", zero: bool = False,
) -> str:  # fmt: skip
    """A row per item: a marker with its interval, the value written at the right edge."""

    def paint(axes: Axes) -> None:
        if reference is not None:
            axes.axvline(reference, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        for place, row in enumerate(rows):
            if row.low is not None and row.high is not None:
                axes.hlines(place, row.low, row.high, color=SERIES[row.style], linewidth=2)
            axes.plot(row.value, place, MARKERS[row.style], color=SERIES[row.style], markersize=7,
                      markeredgecolor=PAPER, markeredgewidth=1, clip_on=False)  # fmt: skip
            text = f"{100 * row.value:.1f}" if percent else f"{row.value:.3g}"
            axes.annotate(text, (1, place), xycoords=("axes fraction", "data"), xytext=(6, 0),
                          textcoords="offset points", va="center", color=INK, fontsize=11)  # fmt: skip
        axes.set_yticks(range(len(rows)), [fit(row.label) for row in rows], color=INK, fontsize=11)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(5))
        if zero:
            axes.set_xlim(left=0)
        if percent:
            axes.xaxis.set_major_formatter(PERCENT)
            low, high = axes.get_xlim()
            axes.set_xlim(
                max(low, -EDGE), min(high, 1 + EDGE)
            )  # a wide interval may pass what a share can be
        axes.set_xlabel(xlabel)

    return draw(name, alt, 46 + 24 * len(rows) + (16 if xlabel else 0), paint)


def histogram(
    name: str, alt: str, edges: Sequence[float], shares: Sequence[float], *, zero_share: float | None,
    marks: Mapping[str, float],
) -> str:  # fmt: skip
    """Share of tokens by drift on a log axis; the tokens at exactly 0 get a bar of their own at the left."""
    left = np.log10(np.maximum(np.asarray(edges[:-1], dtype=float), 1e-12))
    right = np.log10(np.asarray(edges[1:], dtype=float))
    first = max(right[0], left[1] if len(left) > 1 else right[0])
    left[0] = min(left[0], first) if edges[0] > 0 else first - (right[-1] - first) / max(len(left), 1)

    def paint(axes: Axes) -> None:
        axes.bar(left, shares, width=right - left, align="edge", color=ACCENT, linewidth=0.5, edgecolor=PAPER)
        ticks = [tick for tick in range(int(np.floor(left[0])), 1) if left[0] <= tick]
        labels = [power(tick) for tick in ticks]
        if zero_share is not None:
            at = left[0] - 0.55
            axes.bar([at], [zero_share], width=0.35, color=MUTED, linewidth=0)
            ticks, labels = [at, *ticks], ["0", *labels]
        for text, value in marks.items():
            if value > 0:
                axes.axvline(np.log10(value), color=INK, linewidth=1, linestyle=(0, (4, 3)))
                axes.annotate(text, (np.log10(value), 1), xycoords=("data", "axes fraction"), xytext=(3, -2),
                              textcoords="offset points", va="top", fontsize=10)  # fmt: skip
        axes.set_xticks(ticks, labels)
        axes.yaxis.set_major_formatter(PERCENT)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.grid(axis="y")
        axes.set_xlabel("drift d (log scale)")

    return draw(name, alt, 230, paint)


def fit(label: str) -> str:
    """A long label cut in the middle: its start and its end tell it from others."""
    return label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 8]}…{label[-7:]}"


def power(exponent: int) -> str:
    """A power of ten: -3 -> "10⁻³"."""
    superscripts = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return "1" if exponent == 0 else "10" + str(exponent).translate(superscripts)
