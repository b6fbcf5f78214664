"""The results table in the terminal: accuracy with standard errors, and what the differences amount to."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scapo.report.results import Results
from scapo.report.results_view import sentences
from scapo.report.style import MANY
from scapo.report.text import clean, percent

LEGEND = "accuracy in % ± one standard error\n* best beyond noise, ≈ among the best within noise"


def print_results(results: Results, console: Console) -> None:
    """Print one row per suite and one column per method, or the other way round for many methods; nothing without evaluations."""
    if not results.labels:
        return
    console.print(_by_method(results) if len(results.labels) > MANY else _by_suite(results))
    for sentence in sentences(results):
        console.print(Text(clean(sentence)))


def _by_suite(results: Results) -> Table:
    table = Table(caption=LEGEND, caption_justify="left")
    table.add_column("test set", no_wrap=True)
    table.add_column("problems", justify="right", no_wrap=True)
    for label in results.labels:
        table.add_column(Text(clean(label)), justify="right", no_wrap=True)
    for place, suite in enumerate(results.suites):
        leaders = results.leaders(suite)
        cells = (_cell(results, label, suite, leaders) for label in results.labels)
        table.add_row(Text(clean(suite)), _size(results, suite), *cells, end_section=_ends(results, place))
    return table


def _by_method(results: Results) -> Table:
    """Many methods fit as rows only."""
    table = Table(caption=LEGEND, caption_justify="left")
    table.add_column("method", no_wrap=True)
    leaders = {suite: results.leaders(suite) for suite in results.suites}
    for suite in results.suites:
        table.add_column(Text(clean(suite)), justify="right")
    table.add_row("problems", *(_size(results, suite) for suite in results.suites), end_section=True)
    for label in results.labels:
        cells = (_cell(results, label, suite, leaders[suite]) for suite in results.suites)
        table.add_row(Text(clean(label)), *cells)
    return table


def _ends(results: Results, place: int) -> bool:
    """Whether a line is drawn below this row: between the sets and their aggregates."""
    following = results.suites[place + 1 : place + 2]
    return (
        bool(following)
        and following[0] in results.aggregates
        and results.suites[place] not in results.aggregates
    )


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
