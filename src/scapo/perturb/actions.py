"""What `scapo perturb` does, one function per thing; imported by the command only when it runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from scapo.errors import ScapoError
from scapo.files import output_lock
from scapo.perturb.journal import compact, journal_path
from scapo.perturb.kinds import Kind
from scapo.perturb.progress import bar
from scapo.perturb.run import Summary, can_be_written, run_rules
from scapo.perturb.table import summary_table
from scapo.problems import Problem, load_problems

if TYPE_CHECKING:
    from scapo.perturb.llm.settings import LlmSettings


def load(source: str, columns: dict[str, str], limit: int | None, console: Console) -> list[Problem]:
    """The problems of a source; what has to be left out is said, with the first such row."""
    loaded = load_problems(source, columns=columns)
    if loaded.refused:
        first = loaded.refused[0]
        said = f"{len(loaded.refused):,} rows left out, the first (row {first.row}): {first.reason}"
        console.print(said, markup=False)
    problems = loaded.problems[:limit]
    kept = [problem for problem in problems if can_be_written(problem)]
    if len(kept) < len(problems):
        first_id = next(problem.id for problem in problems if not can_be_written(problem))
        console.print(
            f"{len(problems) - len(kept):,} rows left out, the first is {first_id}: a number in it is not "
            "finite, which no JSON file can hold. Mend the input.",
            markup=False,
        )
    return kept


def by_rules(
    problems: list[Problem], out: Path, kinds: Sequence[Kind], seed: int, console: Console
) -> Summary:
    with bar(console, "by rule", len(problems)) as step:
        return run_rules(problems, out, kinds=kinds, seed=seed, done=step)


def llm_settings(**options: Any) -> "LlmSettings":
    """Settings from flags; those not given keep their defaults."""
    try:
        import openai  # noqa: F401
    except ImportError as error:
        raise ScapoError("--generator llm needs the openai package: pip install 'scapo[llm]'.") from error
    from scapo.perturb.llm.settings import LlmSettings

    return LlmSettings(**{name: value for name, value in options.items() if value is not None})


def by_llm(
    problems: list[Problem], out: Path, kinds: Sequence[Kind], settings: "LlmSettings", console: Console
) -> Summary:
    """Run with a live view; the table of requests is printed also where the run stops early."""
    from scapo.perturb.llm.live import Watcher, calls_report
    from scapo.perturb.llm.run import run_llm

    watcher = Watcher(console, len(problems), settings.model)
    try:
        with watcher:
            return run_llm(problems, out, kinds=kinds, settings=settings, watch=watcher.watch)
    finally:
        if watcher.journal is not None:
            console.print(calls_report(watcher.journal))


def report(summary: Summary, out: Path, console: Console) -> None:
    Console().print(summary_table(summary))
    console.print(f"Written: {out}", soft_wrap=True, markup=False)


def inspect(path: Path, kinds: Sequence[Kind] | None, limit: int | None, page: Path | None) -> None:
    from scapo.perturb.inspect import inspect_file

    inspect_file(path, kinds=kinds, limit=limit, page=page or path.with_suffix(".html"))


def compact_journal(out: Path, console: Console) -> None:
    path = journal_path(out)
    if not path.is_file():
        raise ScapoError(f"{path} does not exist: there is no journal to compact.")
    with output_lock(out):
        before, after = compact(path)
    console.print(f"{path}: {before:,} lines became {after:,}.", soft_wrap=True, markup=False)


def push_to_hub(out: Path, repository: str, console: Console) -> None:
    from scapo.perturb.hub import push

    console.print(f"Pushed: {push(out, repository)}", soft_wrap=True, markup=False)


def pull_from_hub(repository: str, out: Path, console: Console) -> None:
    from scapo.perturb.hub import pull

    console.print(f"{pull(repository, out):,} rows written: {out}", soft_wrap=True, markup=False)
