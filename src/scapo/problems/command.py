"""`scapo problems`: look at data before training on it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from scapo.problems import LoadedProblems

app = typer.Typer(
    help="Check problem files: golds, duplicates, overlap with evaluation sets.", no_args_is_help=True
)

SHOWN = 20
_Columns = Annotated[
    list[str] | None, typer.Option(help="Column mapping such as problem=question; may be repeated.")
]
_Split = Annotated[str, typer.Option(help="Split of a hub id.")]


@app.command()
def check(
    source: Annotated[str, typer.Argument(metavar="FILE", help=".jsonl, .parquet, .csv or hub id.")],
    column: _Columns = None,
    split: _Split = "train",
    all_rows: Annotated[bool, typer.Option("--all", help=f"List every row, not only {SHOWN}.")] = False,
) -> None:
    """Check every gold against itself; list refused rows with reasons. Status 1 if any is refused."""
    from rich.console import Console

    from scapo.problems import load_problems, parse_columns
    from scapo.reward.goldcheck import gold_problems, only_as_written

    console = Console()
    with console.status("reading") as status:
        loaded = load_problems(
            source,
            columns=parse_columns(column),
            split=split,
            check=gold_problems,
            progress=lambda n: status.update(f"reading, {n:,} rows") if n % 1000 == 0 else None,
        )
        status.update("checking whether golds can be read")
        literal = only_as_written([problem.answer for problem in loaded.problems])
    _show_counts(console, source, loaded)
    _show_rows(console, "Refused", [(str(r.row), r.id or "", r.reason) for r in loaded.refused], all_rows)
    only = [p for p, unread in zip(loaded.problems, literal, strict=True) if unread]
    _show_rows(console, "Right only if written exactly so", [("", p.id, p.answer) for p in only], all_rows)
    console.print(f"{loaded.counts['kept']:,} of {loaded.counts['rows']:,} rows can be used")
    raise typer.Exit(1 if loaded.refused else 0)


@app.command()
def overlap(
    train: Annotated[str, typer.Argument(metavar="TRAIN", help="Training problems, perturbed or not.")],
    evaluations: Annotated[list[str], typer.Argument(metavar="EVAL...", help="Evaluation problems.")],
    split: _Split = "train",
    min_share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Least share of common 8-grams that counts.")
    ] = 0.2,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the hits to this .jsonl file.")
    ] = None,
    all_rows: Annotated[bool, typer.Option("--all", help=f"List every hit, not only {SHOWN}.")] = False,
) -> None:
    """Report evaluation problems that are in the training set: same text, or many 8-grams in common."""
    from rich.console import Console

    from scapo.files import write_jsonl
    from scapo.problems import load_problems
    from scapo.problems.overlap import find_overlaps

    console = Console()
    with console.status("comparing"):
        sets = {name: load_problems(name, split=split).problems for name in evaluations}
        hits = find_overlaps(load_problems(train, split=split).problems, sets, min_share)
    if out:
        write_jsonl(out, [hit._asdict() for hit in hits])
    lines = [
        (
            f"{Path(hit.evaluation).stem} {hit.evaluation_id}",
            f"{hit.train_id} ({hit.train_text})",
            "same text" if hit.exact else f"{hit.share:.0%} of the 8-grams",
        )
        for hit in sorted(hits, key=lambda hit: hit.share, reverse=True)
    ]
    _show_rows(console, f"In {train}", lines, all_rows, headers=("evaluation", "training", "how"))
    total = sum(map(len, sets.values()))
    console.print(f"{len(hits):,} of {total:,} evaluation problems overlap with the training set")


def _show_counts(console: "Console", source: str, loaded: "LoadedProblems") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(source), title_justify="left", show_header=False)
    for name, count in loaded.counts.items():
        if count or name in ("duplicates", "refused"):
            table.add_row(name.replace("_", " "), f"{count:,}")
    perturbed = sum(bool(problem.perturbations) for problem in loaded.problems)
    if perturbed:
        table.add_row("with perturbations", f"{perturbed:,}")
    console.print(table)


def _show_rows(
    console: "Console",
    title: str,
    rows: list[tuple[str, str, str]],
    all_rows: bool,
    headers: tuple[str, str, str] = ("row", "id", "reason"),
) -> None:
    """A table of the rows (the first SHOWN unless all are wanted); nothing where there are none."""
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    table = Table(*headers, title=Text(f"{title}: {len(rows):,}"), title_justify="left")
    for row in rows if all_rows else rows[:SHOWN]:
        table.add_row(*map(Text, row))
    console.print(table)
    if len(rows) > SHOWN and not all_rows:
        console.print(f"... and {len(rows) - SHOWN:,} more (--all shows them)")
