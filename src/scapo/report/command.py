"""`scapo report`: one HTML page and a terminal table from any mix of run directories."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Output directories of train, evaluate, diagnose, compare, decode."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path(
        "report.html"
    ),
) -> None:
    """Make one self-contained HTML page from any mix of run directories, and print the results table."""
    import shlex

    from rich.console import Console

    from scapo.files import write_atomic
    from scapo.report.page import render
    from scapo.report.results import gather
    from scapo.report.runs import load_runs
    from scapo.report.terminal import print_results

    console = Console()
    runs = load_runs(directories)
    results = gather(runs)
    command = shlex.join(["scapo", "report", *map(str, directories), "-o", str(output)])
    with console.status("Drawing the report"):
        html = render(runs, results, command)
    write_atomic(output, html)
    print_results(results, console)
    for note in [*runs.notes, *results.notes]:
        console.print(f"Note: {note}", markup=False, highlight=False)
    console.print(f"Wrote {output} ({len(html.encode()) / 1e6:.1f} MB).", markup=False, highlight=False)
