"""Original and rewrite side by side: what a person reads before trusting a file of rewrites."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scapo.perturb.inspect_items import Item, Piece, diff, read_items, visible
from scapo.perturb.inspect_page import MOST_PROBLEMS, write_page
from scapo.perturb.kinds import Kind

ON_SCREEN = 40


def print_items(items: Iterable[Item], console: Console) -> None:
    """A table of two columns on the terminal, changed words in colour."""
    table = Table(show_lines=True, expand=True)
    for name in ("original", "rewrite"):
        table.add_column(name, ratio=1)
    for item in items:
        left, right = diff(visible(item.original), visible(item.text or ""))
        head = Text(f"{item.problem_id}  {item.kind}  {item.state}  {item.maker}\n", "dim")
        tail = Text(visible(f"\n{item.reason}" if item.reason else ""), "yellow")
        was = left if item.text else [(visible(item.original), False)]
        table.add_row(head + _styled(was, "red"), _styled(right, "green") + tail)
    console.print(table)


def _styled(pieces: list[Piece], colour: str) -> Text:
    return Text.assemble(*((text, f"bold {colour}" if changed else "") for text, changed in pieces))


def inspect_file(path: Path, *, kinds: Sequence[Kind] | None, limit: int | None, page: Path) -> None:
    """Show the first rewrites on the terminal and write the page with all of them (of `limit` problems)."""
    items = list(read_items(path, kinds, limit or MOST_PROBLEMS))
    console = Console()
    print_items(items[:ON_SCREEN], console)
    write_page(page, path.name, items)
    counts = f"{min(len(items), ON_SCREEN)} of {len(items):,} shown"
    console.print(
        f"{counts}; all of them, with filters: {page}", soft_wrap=True, highlight=False, markup=False
    )
