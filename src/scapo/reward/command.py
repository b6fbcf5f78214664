"""`scapo verify`: score cases with the reward and compare with what was expected."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scapo.errors import ScapoError

if TYPE_CHECKING:
    from rich.console import Console

    from scapo.reward.outcome import Score

SHOWN = 200
_CHUNK = 64

Case = dict[str, Any]


def verify(
    cases: Annotated[
        Path,
        typer.Argument(metavar="CASES.jsonl", help="Rows with gold, completion, and optional expected, id."),
    ],
    all_rows: Annotated[bool, typer.Option("--all", help=f"List every row, not only {SHOWN}.")] = False,
) -> None:
    """Score every case, list scores with reasons and disagreements. Status 1 if any disagrees.

    The last line reads `N of M as expected`; M counts the rows that expect something: 0, 1 or a reason.
    """
    from rich.console import Console

    from scapo.files import read_jsonl

    console = Console()
    rows = [_checked(cases, number, row) for number, row in read_jsonl(cases)]
    scores = _scored(rows)
    verdicts = [as_expected(row.get("expected"), score) for row, score in zip(rows, scores, strict=True)]
    _show(console, rows, scores, verdicts, all_rows)
    reasons = Counter(score.reason.value for score in scores)
    console.print(", ".join(f"{reason} {count}" for reason, count in reasons.most_common()) or "no rows")
    agreed, expecting = verdicts.count(True), len(verdicts) - verdicts.count(None)
    typer.echo(f"{agreed} of {expecting} as expected")
    raise typer.Exit(0 if agreed == expecting else 1)


def as_expected(expected: Any, score: "Score") -> bool | None:
    """Whether a score is what a case expects: a value (0, 1) or a reason; None where it expects nothing."""
    from scapo.reward.outcome import Reason

    if isinstance(expected, int | float):
        return score.value == float(expected)
    if expected in set(Reason):
        return score.reason.value == str(expected)
    return None


def _checked(path: Path, number: int, row: Case) -> Case:
    for name in ("gold", "completion"):
        if name not in row:
            raise ScapoError(f"{path}, line {number} has no {name!r}. It has: {', '.join(row) or 'nothing'}.")
    return {"id": str(number), **row}


def _scored(rows: list[Case]) -> list["Score"]:
    from rich.console import Console
    from rich.progress import track

    from scapo.reward.score import score_batch

    scores: list[Score] = []
    for start in track(range(0, len(rows), _CHUNK), "scoring", console=Console(stderr=True), transient=True):
        chunk = rows[start : start + _CHUNK]
        scores += score_batch([row["completion"] for row in chunk], [row["gold"] for row in chunk])
    return scores


def _show(
    console: "Console", rows: list[Case], scores: list["Score"], verdicts: list[bool | None], all_rows: bool
) -> None:
    """Disagreements always; the others as long as the table stays readable."""
    from rich.table import Table
    from rich.text import Text

    table = Table("id", "gold", "in the box", "score", "reason", "expected")
    everything = all_rows or len(rows) <= SHOWN
    for row, score, verdict in zip(rows, scores, verdicts, strict=True):
        if everything or verdict is False:
            cells = (
                row["id"],
                row["gold"],
                score.extracted,
                f"{score.value:.0f}",
                score.reason,
                row.get("expected"),
            )
            table.add_row(*(Text(_short(cell)) for cell in cells), style="red" if verdict is False else None)
    console.print(table)
    if not everything:
        console.print(f"{len(rows) - table.row_count:,} rows as expected aren't listed (--all shows them)")


def _short(cell: Any, width: int = 40) -> str:
    """One printable line."""
    text = "" if cell is None else "".join(c if c.isprintable() else "·" for c in str(cell)[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"
