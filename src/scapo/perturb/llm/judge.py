"""The second opinion: does a rewrite that passed the checks have the same answer as the original?"""

import re
from dataclasses import replace

from scapo.perturb.journal import Call, Result, problem_hash
from scapo.perturb.kinds import Kind
from scapo.perturb.llm.asker import Asker
from scapo.perturb.llm.client import call_of
from scapo.perturb.llm.faults import Fault
from scapo.perturb.llm.prompt import Prompt
from scapo.perturb.llm.settings import LlmSettings
from scapo.problems import Problem

JUDGED = (Kind.PARAPHRASE, Kind.SCENARIO_WRAP, Kind.COUNTERFACTUAL)
"""Kinds with free wording; the checks settle the other two character by character."""
_VERDICT = re.compile(r"\b(SAME|DIFFERENT)\b", re.IGNORECASE)


def accepted(result: Result) -> Result:
    """A text that needs no judge, or none any more."""
    return replace(result, status="made", final=True)


async def judge(
    problem: Problem, kind: Kind, result: Result, *, settings: LlmSettings, prompt: Prompt, asker: Asker
) -> tuple[list[Call], Result]:
    """The call it took, and the result made final or refused. An unclear verdict is a refusal."""
    if not settings.judge:  # left behind by an earlier run that had a judge
        return [], accepted(result)
    model = settings.judge_model or settings.model
    try:
        reply = await asker.ask(
            lambda: prompt.judge(problem.problem, result.text or ""),
            model=model,
            max_tokens=settings.max_tokens,
            seed=settings.seed,
            problem=problem_hash(problem),
        )
    except Fault as fault:
        return [], _refused(result, f"judge_failed: {fault}")
    verdict = read_verdict(reply.text)
    call = call_of(reply, settings, problem_hash(problem), f"judge_{verdict}")
    if verdict != ("different" if kind is Kind.COUNTERFACTUAL else "same"):
        return [call], _refused(
            result, f"judge_{verdict}: asked whether the answers are the same, {model} said {verdict}"
        )
    return [call], accepted(replace(result, provenance={**result.provenance, "judge": model}))


def read_verdict(text: str) -> str:
    """same or different, where the reply says exactly one of them; else unclear."""
    words = {word.lower() for word in _VERDICT.findall(text.rpartition("</think>")[2])}
    return words.pop() if len(words) == 1 else "unclear"


def _refused(result: Result, reason: str) -> Result:
    return Result(status="refused", text=result.text, reason=reason, attempts=result.attempts, final=False)
