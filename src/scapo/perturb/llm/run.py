"""A whole run with a language model: many workers, one journal, one output."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from scapo.errors import ScapoError
from scapo.files import output_lock
from scapo.perturb.journal import Journal, journal_path, problem_hash
from scapo.perturb.kinds import Kind
from scapo.perturb.llm.asker import Asker, Stop, Stopped
from scapo.perturb.llm.client import Endpoint
from scapo.perturb.llm.pacing import Budget
from scapo.perturb.llm.prompt import Prompt, load_prompt
from scapo.perturb.llm.rewriter import Rewriter, llm_key
from scapo.perturb.llm.settings import LlmSettings, api_key
from scapo.perturb.llm.writer import Writer
from scapo.perturb.run import Summary, write_output
from scapo.problems import Problem


def run_llm(
    problems: Sequence[Problem],
    out: Path,
    *,
    kinds: Sequence[Kind],
    settings: LlmSettings,
    watch: Callable[[Journal], Callable[[], None]] = lambda journal: lambda: None,
) -> Summary:
    """Perturb all problems through an endpoint into `out`; only what the journal lacks is asked for.

    `watch` gets the journal once and returns what is called after each problem. Raises ScapoError, without
    writing `out`, where the run stopped early: the journal keeps everything, the same call goes on.
    """
    prompt = load_prompt(settings.prompt_file)
    with output_lock(out), Journal(journal_path(out)) as journal:
        try:
            reason = asyncio.run(_generate(problems, kinds, settings, prompt, journal, watch(journal)))
        except (OSError, ExceptionGroup) as error:
            raise _plain(error, journal.path) from error
        if reason is not None:
            raise ScapoError(f"{reason} {_kept(problems, kinds, settings, prompt, journal)}")
        return write_output(out, problems, kinds, lambda p, kind: llm_key(p, kind, prompt, settings), journal)


def _plain(error: BaseException, path: Path) -> BaseException:
    """The first error of the workers, as a sentence where the disk is at fault."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError):
        return ScapoError(
            f"{path} can't be written ({error}). Free some space, then run the same command again."
        )
    return error


async def _generate(
    problems: Sequence[Problem],
    kinds: Sequence[Kind],
    settings: LlmSettings,
    prompt: Prompt,
    journal: Journal,
    done: Callable[[], None],
) -> str | None:
    """Finish all problems; returns why the run stopped early, None where it didn't."""
    endpoint = Endpoint(settings, api_key())
    budget = Budget(settings, journal.calls.total(), journal.cost)
    try:
        async with Writer(journal) as writer:
            asker = Asker(settings, endpoint, budget, lambda call: writer.write([call]))
            rewriter = Rewriter(settings, prompt, kinds, asker, journal, writer)
            _stop_on_interrupt(asker.stop)
            todo = _once_each(problems)
            async with asyncio.TaskGroup() as group:
                for _ in range(settings.concurrency):
                    group.create_task(_work(todo, rewriter, done))
    finally:
        await endpoint.close()
    return asker.stop.reason


async def _work(todo: Iterator[Problem | None], rewriter: Rewriter, done: Callable[[], None]) -> None:
    for problem in todo:
        if problem is not None:
            try:
                await rewriter.rewrite(problem)
            except Stopped:
                return
        done()


def _once_each(problems: Sequence[Problem]) -> Iterator[Problem | None]:
    """Each distinct problem once; None in the place of a repetition, which shares its results."""
    seen: set[str] = set()
    for problem in problems:
        key = problem_hash(problem)
        yield None if key in seen else problem
        seen.add(key)


def _stop_on_interrupt(stop: Stop) -> None:
    """The first Ctrl-C lets requests under way finish; the second ends the process as usual."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stop.set("Interrupted.")

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except (NotImplementedError, RuntimeError, ValueError):  # not in the main thread, or no Unix
        return


def _kept(
    problems: Sequence[Problem],
    kinds: Sequence[Kind],
    settings: LlmSettings,
    prompt: Prompt,
    journal: Journal,
) -> str:
    keys = [llm_key(problem, kind, prompt, settings) for problem in problems for kind in kinds]
    finished = sum(journal.finished(key) for key in keys)
    return (
        f"{finished:,} of {len(keys):,} rewrites are finished and kept in {journal.path}. "
        "Run the same command again to go on; nothing finished is asked again."
    )
