"""What the evaluate command prints: the plan, a progress bar, tables, warnings."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from scapo.evaluate.compare import compare_runs
from scapo.evaluate.paper import PAPER
from scapo.evaluate.setting import SetPlan
from scapo.evaluate.tables import comparison_table, paper_table, pass_table, results_table
from scapo.files import write_json


def show_plan(console: Console, plans: Sequence[SetPlan], out: Path) -> None:
    total = sum(len(plan.keys) for plan in plans)
    _line(console, f"{len(plans)} sets, {total:,} responses -> {out}")
    for plan in plans:
        for note in plan.notes:
            _line(console, f"Note: {note}")


@contextmanager
def progress(
    console: Console, plans: Sequence[SetPlan], out: Path, label: str
) -> Iterator[Callable[[], None]]:
    """A bar over all responses, starting at those an earlier run finished."""
    columns = (
        TextColumn(f"evaluate {label}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    file = out / "samples.jsonl"
    done = sum(1 for _ in file.open("rb")) if file.is_file() else 0
    total = sum(len(plan.keys) for plan in plans)
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=total, completed=min(done, total))
        yield lambda: bar.advance(task)


def show_results(
    console: Console, results: dict[str, Any], out: Path, *, pass_k: bool, against_paper: bool
) -> None:
    console.print(results_table(results))
    if pass_k:
        console.print(pass_table(results))
    if against_paper:
        for base in PAPER:
            console.print(paper_table(results, base))
    for warning in results["warnings"]:
        _line(console, f"Warning: {warning}")
    _line(console, f"Wrote {out / 'results.json'}; every response is in {out / 'samples.jsonl'}.")
    _line(console, f"To read the transcripts: inspect view --log-dir {out / 'inspect'}")


def show_comparison(console: Console, a: Path, b: Path, out: Path | None) -> None:
    compared = compare_runs(a, b)
    if out is not None:
        write_json(out / "comparison.json", compared)
    console.print(comparison_table(compared))
    for warning in compared["warnings"]:
        _line(console, f"Warning: {warning}")


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False)
