"""What a run looks like while it runs: done, kept, refused by reason, faults, speed, tokens, cost."""

import time
from collections import Counter
from collections.abc import Callable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

from scapo.perturb.journal import Journal

QUIET_INTERVAL = 30.0
"""Seconds between lines where the output is no terminal (a log file)."""
GOOD_CALLS = ("ok", "judge_same", "judge_different")


class View:
    """A progress bar and two lines of numbers, drawn anew several times a second."""

    def __init__(self, journal: Journal, total: int, model: str) -> None:
        self._journal, self._began = journal, time.monotonic()
        self._calls_before = journal.calls.total()
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._progress = Progress(TextColumn("{task.description}", markup=False), *columns)
        self._task = self._progress.add_task(model, total=total)

    def step(self) -> None:
        self._progress.advance(self._task)

    def __rich__(self) -> RenderableType:
        return Group(self._progress, Text(self.line()))

    def line(self) -> str:
        """The numbers as plain text."""
        journal = self._journal
        rate = (journal.calls.total() - self._calls_before) / max(time.monotonic() - self._began, 1e-9)
        faults = journal.calls - Counter({name: journal.calls[name] for name in GOOD_CALLS})
        done = f"{self._progress.tasks[0].completed:,.0f} of {self._progress.tasks[0].total:,.0f} problems"
        return (
            f"{done}, kept {journal.results['made']:,}, refused {_frequent(journal.refusals)}, "
            f"faults {_frequent(faults)}\n{rate:.1f} requests/s, tokens {journal.tokens_in:,} in "
            f"{journal.tokens_out:,} out, cost ${journal.cost:.4f}"
        )


def _frequent(counts: Counter[str], most: int = 4) -> str:
    parts = [f"{name} {count:,}" for name, count in counts.most_common(most)]
    return f"{counts.total():,}" + (f" ({', '.join(parts)})" if parts else "")


class Watcher:
    """Shows a run on the console: live on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console, total: int, model: str) -> None:
        self._console, self._total, self._model = console, total, model
        self._live = Live(console=console, transient=True)
        self.journal: Journal | None = None

    def watch(self, journal: Journal) -> Callable[[], None]:
        """Begin to show a journal; the result is to be called after each problem."""
        self.journal = journal
        view = View(journal, self._total, self._model)
        if not self._console.is_terminal:
            return self._logging(view)
        self._live.update(view)
        return view.step

    def _logging(self, view: View) -> Callable[[], None]:
        last = time.monotonic()

        def step() -> None:
            nonlocal last
            view.step()
            if time.monotonic() - last >= QUIET_INTERVAL:
                last = time.monotonic()
                self._console.print(view.line().replace("\n", ", "), highlight=False, soft_wrap=True)

        return step

    def __enter__(self) -> "Watcher":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()


def calls_report(journal: Journal) -> RenderableType:
    """What became of the requests, with tokens and cost, over all runs into this output."""
    total = f"{journal.calls.total():,} requests, {journal.tokens_in:,} tokens in, {journal.tokens_out:,} out"
    table = Table("ended as", Column("count", justify="right"))
    for name, count in journal.calls.most_common():
        table.add_row(name, f"{count:,}")
    table.add_section()
    for name, count in journal.refusals.most_common():
        table.add_row(f"rewrite refused: {name}", f"{count:,}")
    return Group(Text(f"{total}, ${journal.cost:.4f}"), table)
