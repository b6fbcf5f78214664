"""Drawing with matplotlib so that the page's own style sheet decides colours and fonts, in light and in dark.

Figures are drawn in placeholder colours; `inline_svg` turns each into a CSS variable of style.css.
"""

import io
import re
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, MUTED, GRID, SHADE, ACCENT, PAPER = "#0000a1", "#0000a2", "#0000a3", "#0000a4", "#0000a5", "#0000a6"
_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", SHADE: "shade", ACCENT: "accent", PAPER: "paper"}
SERIES = tuple(
    f"#0000b{i:x}" for i in range(12)
)  # --s0 is the grey of base models, --s1.. are hues (style.css)
_VARIABLES |= {colour: f"s{i}" for i, colour in enumerate(SERIES)}

DASHES: tuple[Any, ...] = (
    "-", "-", (0, (5, 2)), "-", (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1.5)), "-",
    (0, (8, 2)), (0, (4, 1.5, 1, 1.5, 1, 1.5)), (0, (1, 1)), (0, (2, 1)),
)  # fmt: skip
MARKERS = ("s", "o", "D", "^", "v", "P", "X", "h", "<", ">", "p", "d")
_FIXED = {"base": 0, "grpo": 1, "scapo": 2}  # the three methods of nearly every report keep their colours

MANY = 5  # methods; with more, tables have a row per method, and curves are drawn one method at a time

WIDTH = 400  # units of a figure's width; the page scales it to its column

_RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a label may hold a dollar sign
    "font.size": 11,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 10.5,
    "axes.linewidth": 1,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "text.color": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


def assign_styles(labels: Iterable[str]) -> dict[str, int]:
    """A series index per label: base, GRPO and SCAPO keep theirs, others take the next free one."""
    styles: dict[str, int] = {}
    free = [index for index in range(1, len(SERIES)) if index not in _FIXED.values()]
    for place, label in enumerate(dict.fromkeys(labels)):
        fixed = _FIXED.get(label.lower())
        others = free or range(1, len(SERIES))  # more methods than styles: some share one
        styles[label] = fixed if fixed is not None else others[0 if free else place % len(others)]
        if styles[label] in free:
            free.remove(styles[label])
    return styles


def draw(name: str, alt: str, height: int, paint: Callable[[Axes], None], width: int = WIDTH) -> str:
    """Paint one set of axes and return it as inline SVG; `name` makes its ids unique in the page."""
    with matplotlib.rc_context(_RC | {"svg.hashsalt": name}):
        figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03)  # type: ignore[union-attr,call-arg]
        paint(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return inline_svg(buffer.getvalue(), alt)


def inline_svg(svg: str, alt: str) -> str:
    """matplotlib's SVG made fit for a page: no fixed size, CSS colours, the page's font, an aria-label."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'\sid="[A-Za-z0-9.]+_\d+"', "", svg)
    svg = re.sub(r'\sid="of-(\d+)"', r' class="line m\1"', svg)  # the method a line belongs to (`of_method`)
    svg = re.sub(r"font: (?:(\d+) )?([\d.]+)px [^;\"]+", _font, svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    return svg.replace(
        "<svg", f'<svg class="plot" role="img" aria-label="{escape(alt, quote=True)}"', 1
    ).strip()


def of_method(style: int) -> str:
    """The mark (matplotlib's gid) by which the style sheet finds a method's lines."""
    return f"of-{style}"


def key(style: int) -> str:
    """A legend's sample of a method's line, as inline SVG."""
    dash = DASHES[style]
    pattern = "" if dash == "-" else f' stroke-dasharray="{" ".join(f"{2 * part:g}" for part in dash[1])}"'
    return (
        f'<svg class="key" viewBox="0 0 30 8" aria-hidden="true"><path d="M1 4H29" fill="none" '
        f'stroke="var(--s{style})" stroke-width="2"{pattern}/></svg>'
    )


def _font(found: re.Match[str]) -> str:
    weight = f"font-weight: {found[1]}; " if found[1] else ""
    return f"{weight}font-size: {found[2]}px"
