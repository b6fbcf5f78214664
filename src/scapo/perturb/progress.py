"""The progress bar of the rule generator."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def bar(console: Console, title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar with counts and the time left; yields the function that advances it by one."""
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)
