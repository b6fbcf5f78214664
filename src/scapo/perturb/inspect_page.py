"""The inspection page: one HTML file without outside parts, filtered by kind, state, reason and words."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from scapo.files import write_atomic
from scapo.perturb.inspect_items import Item, Piece, diff, visible

MOST_PROBLEMS = 1000
"""Problems on a page unless a limit is given: browsers grow slow beyond."""
_TEMPLATES = Path(__file__).with_name("templates")


def write_page(path: Path, title: str, items: Sequence[Item]) -> None:
    """Write the page atomically."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    rows = [{"item": item, **_sides(item)} for item in items]
    filters = {
        "kind": Counter(item.kind for item in items).most_common(),
        "state": Counter(item.state for item in items).most_common(),
        "reason": Counter(item.code for item in items if item.code).most_common(),
        "maker": Counter(item.maker for item in items if item.maker).most_common(),
    }
    write_atomic(
        path, environment.get_template("inspect.html").render(title=title, rows=rows, filters=filters)
    )


def _sides(item: Item) -> dict[str, Markup]:
    if item.text is None:
        return {"left": escape(visible(item.original)), "right": Markup("")}
    left, right = diff(visible(item.original), visible(item.text))
    return {"left": _marked(left, "del"), "right": _marked(right, "ins")}


def _marked(pieces: Sequence[Piece], tag: str) -> Markup:
    """Text as HTML with the changed pieces in a `tag` element; everything in it is escaped."""
    wrap = Markup(f"<{tag}>{{}}</{tag}>")
    return Markup("").join(wrap.format(text) if changed else escape(text) for text, changed in pieces)
