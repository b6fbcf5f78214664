"""What `scapo compare` does: check everything, run the grid, write compare.json, show the tables."""

import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scapo.compare.grid import Cell, Outcome, Plan, make_cells, run_grid
from scapo.compare.show import show_failures, show_tables
from scapo.compare.table import compare_runs
from scapo.errors import ScapoError
from scapo.files import output_lock, write_json
from scapo.versions import versions

RESULT = "compare.json"


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What is evaluated after each training, as for `scapo evaluate`; nothing without suites."""

    suites: Sequence[str] = field(default_factory=list)
    data: Sequence[str] = field(default_factory=list)
    samples: int | None = None
    limit: int | None = None

    def words(self) -> tuple[str, ...]:
        """The same sampling seed for all, so that methods meet the same luck."""
        if not self.suites:
            return ()
        words = [word for suite in self.suites for word in ("--suite", suite)]
        words += [word for source in self.data for word in ("--data", source)]
        words += [] if self.samples is None else ["--samples", str(self.samples)]
        return (*words, *([] if self.limit is None else ["--limit", str(self.limit)]))


def parse_methods(text: str) -> tuple[str, ...]:
    """Known names, each once, in order. Raises ScapoError listing the known ones."""
    from scapo.algorithm import method

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        method(name)
    if not names or len(set(names)) < len(names):
        raise ScapoError(f"--methods is {text!r}; give each name once, such as grpo,scapo.")
    return names


def parse_seeds(text: str) -> tuple[int, ...]:
    """ "5" is 1 to 5; "1,4,9" is a list, and so is "7,"."""
    try:
        numbers = [int(word) for word in text.split(",") if word.strip()]
    except ValueError:
        numbers = []
    if numbers and "," not in text:
        numbers = list(range(1, numbers[0] + 1))
    if not numbers or min(numbers) < 0 or len(set(numbers)) < len(numbers):
        raise ScapoError(
            f"--seeds is {text!r}; give how many, such as 5, or different numbers, such as 1,4,9."
        )
    return tuple(numbers)


def compare(
    recipe: Path,
    methods: Sequence[str],
    seeds: Sequence[int],
    out: Path,
    evaluation: Evaluation,
    train_words: Sequence[str] = (),
    jobs: int = 1,
    command: str | None = None,
    program: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Run (or finish) a comparison; returns what compare.json holds.

    Raises:
        ScapoError: for settings that can't be trained, before anything runs; when every cell failed.
    """
    check_recipe(recipe, methods, train_words)
    extra = {} if program is None else {"program": tuple(program)}
    plan = Plan(
        recipe=recipe, methods=tuple(methods), seeds=tuple(seeds), out=out,
        train_words=tuple(train_words), evaluate_words=evaluation.words(), **extra,
    )  # fmt: skip
    with output_lock(out):
        cells, console = make_cells(plan), Console()
        try:
            with progress(console, cells) as on_stage, interrupt_on_terminate():
                outcomes = run_grid(cells, jobs, on_stage)
        except KeyboardInterrupt:
            raise ScapoError(
                "The comparison was interrupted. The same command again goes on with it."
            ) from None
        content = report(plan, outcomes, command or shlex.join(["scapo", *sys.argv[1:]]))
    write_json(out / RESULT, content)
    show_tables(console, content)
    show_failures(console, content)
    if not content["results"]:
        raise ScapoError(f"Every run failed; the first: {content['failures'][0]['message']}")
    console.print(f"{out / RESULT}", highlight=False, soft_wrap=True)
    return content


def check_recipe(recipe: Path, methods: Sequence[str], words: Sequence[str]) -> None:
    """Every method's settings must be trainable before the first run starts."""
    from scapo.engines.trl.recipe import load_recipe
    from scapo.engines.trl.settings import scapo_config

    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    for key in ("--method.name", "--trainer.seed"):
        if any(word.split("=")[0] == key for word in words):
            raise ScapoError(f"{key} is set by the comparison itself; use --methods and --seeds.")
    for name in methods:
        scapo_config(load_recipe(recipe, ["--method.name", name, *words]), "compare")


def report(plan: Plan, outcomes: Sequence[Outcome], command: str) -> dict[str, Any]:
    """What compare.json holds."""
    from scapo.engines.trl.method import method_label

    finished = [outcome.cell for outcome in outcomes if outcome.failed is None]
    labels = {name: method_label(name) for name in plan.methods}
    results = compare_runs(finished, plan.methods[0], labels)
    return {
        "kind": "compare",
        "recipe": str(plan.recipe),
        "baseline": plan.methods[0],
        "seeds": list(plan.seeds),
        "settings": {"train": list(plan.train_words), "evaluate": list(plan.evaluate_words)},
        "results": {name: results[name] for name in plan.methods if name in results},
        "failures": [
            {
                "method": outcome.cell.method,
                "seed": outcome.cell.seed,
                "stage": outcome.failed,
                "message": outcome.message,
            }
            for outcome in outcomes
            if outcome.failed is not None
        ],
        "versions": versions(),
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@contextmanager
def interrupt_on_terminate() -> Iterator[None]:
    """SIGTERM as Ctrl-C, so that the runs are stopped, too, and save where they are."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def progress(console: Console, cells: Sequence[Cell]) -> Iterator[Any]:
    """A bar over all stages of all cells, and a line per stage that starts or fails."""
    columns = (TextColumn("compare"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("compare", total=sum(len(cell.stages) for cell in cells))

        def on_stage(cell: Cell, stage: str, state: str) -> None:
            if state in ("start", "failed"):
                verb = "FAILED" if state == "failed" else ""
                log = cell.folder / f"{stage}.log"
                text = f"{cell.method} seed {cell.seed}: {stage} {verb}".rstrip()
                bar.console.print(f"{text} ({log})", highlight=False, soft_wrap=True, markup=False)
            if state in ("done", "skip"):
                bar.advance(task)

        yield on_stage
