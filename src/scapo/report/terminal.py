"""The results table in the terminal: accuracy with standard errors, and what the differences amount to."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scapo.report.results import Results
from scapo.report.results_view import sentences
from scapo.report.text import clean, percent


def print_results(results: Results, console: Console) -> None:
    """Print one row per method and one column per suite; nothing without evaluations."""
    if not results.labels:
        return
    table = Table(
        caption="accuracy in % ± one standard error; * best beyond noise, ≈ among the best within noise"
    )
    table.add_column("method")
    for suite in results.suites:
        table.add_column(Text(f"{clean(suite)}\n{_size(results, suite)}"), justify="right")
    leaders = {suite: results.leaders(suite) for suite in results.suites}
    for label in results.labels:
        table.add_row(
            Text(clean(label)), *(_cell(results, label, suite, leaders[suite]) for suite in results.suites)
        )
    console.print(table)
    for sentence in sentences(results):
        console.print(Text(clean(sentence)))


def _size(results: Results, suite: str) -> str:
    for label in results.labels:
        cell = results.cells.get((label, suite))
        if cell and (problems := cell.count("problems")) is not None:
            return f"{problems:.0f} × {cell.samples() or 1:.0f}"
    return ""


def _cell(results: Results, label: str, suite: str, leaders: list[str]) -> Text:
    cell = results.cells.get((label, suite))
    one = cell.estimate() if cell else None
    if one is None:
        return Text("–")
    mark = "*" if leaders == [label] else "≈" if label in leaders else " "
    stderr = f" ± {percent(one.stderr)}" if one.stderr is not None else ""
    return Text(f"{percent(one.mean)}{stderr}{mark if len(results.labels) > 1 else ''}")
