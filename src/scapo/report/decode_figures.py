"""Plots of plain against filtered decoding."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from scapo.report.figures import PERCENT, fit
from scapo.report.style import ACCENT, INK, MUTED, PAPER, SERIES, draw

ROW = 30  # units of height a row


@dataclass(frozen=True)
class Step:
    """A value before and after."""

    label: str
    before: float
    after: float


@dataclass(frozen=True)
class Change:
    """How many problems only one way solved."""

    label: str
    lost: int
    gained: int


def steps(name: str, alt: str, rows: Sequence[Step]) -> str:
    """A row each: from a grey dot to a coloured one, both values at the right edge."""

    def paint(axes: Axes) -> None:
        for place, row in enumerate(rows):
            axes.plot([row.before, row.after], [place, place], color=ACCENT, linewidth=2)
            for value, colour in ((row.before, SERIES[0]), (row.after, ACCENT)):
                axes.plot(value, place, "o", color=colour, markersize=8, markeredgecolor=PAPER,
                          markeredgewidth=1, clip_on=False)  # fmt: skip
            _at_edge(axes, place, f"{100 * row.before:.1f} → {100 * row.after:.1f}")
        axes.grid(axis="x")
        axes.xaxis.set_major_formatter(PERCENT)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        _rows(axes, [row.label for row in rows])

    return draw(name, alt, 46 + ROW * len(rows), paint)


def changes(name: str, alt: str, rows: Sequence[Change]) -> str:
    """A row each: lost to the left, gained to the right of 0."""

    def paint(axes: Axes) -> None:
        places = range(len(rows))
        axes.barh(places, [-row.lost for row in rows], height=0.55, color=SERIES[0], linewidth=0)
        axes.barh(places, [row.gained for row in rows], height=0.55, color=ACCENT, linewidth=0)
        axes.axvline(0, color=MUTED, linewidth=1)
        for place, row in enumerate(rows):
            _at_edge(axes, place, f"{row.lost} : {row.gained}")
        reach = max(1, *(max(row.lost, row.gained) for row in rows))
        axes.set_xlim(-1.05 * reach, 1.05 * reach)
        axes.grid(axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):.0f}"))
        _rows(axes, [row.label for row in rows])

    return draw(name, alt, 46 + ROW * len(rows), paint)


def _at_edge(axes: Axes, place: int, text: str) -> None:
    axes.annotate(text, (1, place), xycoords=("axes fraction", "data"), xytext=(8, 0),
                  textcoords="offset points", va="center", color=INK, fontsize=11)  # fmt: skip


def _rows(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), [fit(label) for label in labels], color=INK, fontsize=11)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
