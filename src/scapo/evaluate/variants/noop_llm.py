"""NoOp variants by a language model: a clause that seems to belong, checked, then judged for the answer."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.variants.insertion import check_noop, insert
from scapo.files import JsonlAppender, cut_torn_tail, read_jsonl
from scapo.perturb.journal import problem_hash
from scapo.perturb.llm.asker import Asker, Stopped
from scapo.perturb.llm.client import Endpoint
from scapo.perturb.llm.faults import Fault
from scapo.perturb.llm.judge import read_verdict
from scapo.perturb.llm.pacing import Budget
from scapo.perturb.llm.prompt import Messages, Prompt, load_prompt
from scapo.perturb.llm.settings import LlmSettings, api_key
from scapo.problems import Problem

PROMPT_VERSION = "noop-1"
PROMPT = """Here is a mathematics problem.

{problem}

Write ONE statement sentence that could stand just before its question, speaks of the same setting, and holds
exactly one number, yet changes nothing: every quantity, condition and the answer stay as they are. The number
must not occur in the problem. No mathematics, no formula, no condition ("if", "each", "more than", "total"),
no hint. End with a full stop. Reply with the sentence only."""
AGAIN = "\n\nYour last sentence was refused: {reason}"


class Answers:
    """Finished problems by key, one line each: nothing finished is asked (or paid for) again."""

    def __init__(self, path: Path) -> None:
        cut_torn_tail(path)
        rows = [row for _, row in read_jsonl(path)] if path.exists() else []
        self.by_key: dict[str, dict[str, Any]] = {row["key"]: row for row in rows}
        self._file = JsonlAppender(path)

    def add(self, key: str, sentence: str | None, reason: str | None) -> None:
        row = {"key": key, "sentence": sentence, "reason": reason}
        self._file.append(row)
        self.by_key[key] = row

    def close(self) -> None:
        self._file.close()


def noop_by_model(
    problems: Sequence[Problem], journal: Path, settings: LlmSettings, done: Callable[[], None]
) -> list[tuple[str | None, str | None]]:
    """(sentence, None) or (None, reason) per problem, in order. Raises ScapoError where the run had to stop."""
    answers = Answers(journal)
    try:
        reason = asyncio.run(_all(problems, answers, settings, done))
    finally:
        answers.close()
    if reason is not None:
        raise ScapoError(f"{reason} Finished problems are kept in {journal}; run the same command again.")
    rows = [answers.by_key[_key(problem, settings)] for problem in problems]
    return [(row["sentence"], row["reason"]) for row in rows]


def _key(problem: Problem, settings: LlmSettings) -> str:
    return f"{problem_hash(problem)}/{PROMPT_VERSION}/{settings.model}"


async def _all(
    problems: Sequence[Problem], answers: Answers, settings: LlmSettings, done: Callable[[], None]
) -> str | None:
    endpoint = Endpoint(settings, api_key())
    asker = Asker(settings, endpoint, Budget(settings, 0, 0.0), lambda call: None)
    prompt = load_prompt(settings.prompt_file)
    todo = iter(problems)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(settings.concurrency):
                group.create_task(_work(todo, answers, settings, asker, prompt, done))
    finally:
        await endpoint.close()
    return asker.stop.reason


async def _work(
    todo: Iterator[Problem],
    answers: Answers,
    settings: LlmSettings,
    asker: Asker,
    prompt: Prompt,
    done: Callable[[], None],
) -> None:
    for problem in todo:
        key = _key(problem, settings)
        if key not in answers.by_key:
            try:
                sentence, reason = await _one(problem, settings, asker, prompt)
            except Stopped:
                return
            if key not in answers.by_key:  # a repetition of the problem may have been quicker
                answers.add(key, sentence, reason)
        done()


async def _one(
    problem: Problem, settings: LlmSettings, asker: Asker, prompt: Prompt
) -> tuple[str | None, str | None]:
    """Ask until a sentence passes checks and judge, or the attempts are used up."""
    reason: str | None = None
    for attempt in range(settings.attempts):
        again = AGAIN.format(reason=reason) if reason else ""
        text = PROMPT.replace("{problem}", problem.problem) + again
        try:
            sentence = (await _ask(asker, settings, text, attempt, problem)).strip()
            refusal = check_noop(problem.problem, sentence, problem.answer)
            reason = str(refusal) if refusal else await _judged(problem, sentence, settings, asker, prompt)
        except Fault as fault:
            reason = str(fault)
            continue
        if reason is None:
            return sentence, None
    return None, reason


async def _judged(
    problem: Problem, sentence: str, settings: LlmSettings, asker: Asker, prompt: Prompt
) -> str | None:
    """None where the model says that both texts have the same answer."""
    messages = prompt.judge(problem.problem, insert(problem.problem, sentence))
    verdict = read_verdict(await _reply(asker, settings, messages, settings.seed, problem))
    return None if verdict == "same" else f"judge_{verdict}: the answer may have changed"


async def _ask(asker: Asker, settings: LlmSettings, text: str, attempt: int, problem: Problem) -> str:
    messages: Messages = [{"role": "user", "content": text}]
    reply = await _reply(asker, settings, messages, settings.seed + attempt, problem)
    return reply.rpartition("</think>")[2]


async def _reply(asker: Asker, settings: LlmSettings, messages: Messages, seed: int, problem: Problem) -> str:
    reply = await asker.ask(
        lambda: messages,
        model=settings.model,
        max_tokens=settings.max_tokens,
        seed=seed,
        problem=problem_hash(problem),
    )
    return reply.text
