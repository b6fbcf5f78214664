"""One problem, from its first request to a final result for each kind; each step is written before the next.

A kind's life: it is asked for, again with the reason of its refusal, until a text passes the checks (and the
judge) or the attempts are used up; then a rule takes over where one can.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from scapo.perturb.checks import check
from scapo.perturb.journal import Call, Journal, Key, Result, problem_hash, reason_code
from scapo.perturb.kinds import Kind
from scapo.perturb.llm.asker import Asker
from scapo.perturb.llm.client import Reply, call_of
from scapo.perturb.llm.faults import Fault
from scapo.perturb.llm.judge import JUDGED, judge
from scapo.perturb.llm.prompt import Prompt, Refused
from scapo.perturb.llm.reply import Parsed, parse_reply
from scapo.perturb.llm.settings import LlmSettings
from scapo.perturb.llm.writer import Writer
from scapo.perturb.run import by_rule
from scapo.problems import Problem

RULES_CAN = (Kind.TYPO_NOISE, Kind.SCENARIO_WRAP, Kind.IRRELEVANT_CONTEXT)
NOT_ASKED = Result(status="new", attempts=0, final=False)
TRIES_WITHOUT_JSON = 5
"""Replies without JSON, none with it, after which structured output is believed to be ignored."""

Results = dict[Kind, Result]


def llm_key(problem: Problem, kind: Kind, prompt: Prompt, settings: LlmSettings) -> Key:
    return Key(problem_hash(problem), kind, prompt.version, settings.model)


class Rewriter:
    """Makes all kinds of one problem after another; shared by all workers of a run."""

    def __init__(
        self,
        settings: LlmSettings,
        prompt: Prompt,
        kinds: Sequence[Kind],
        asker: Asker,
        journal: Journal,
        writer: Writer,
    ) -> None:
        self._settings, self._prompt, self._kinds = settings, prompt, kinds
        self._asker, self._journal, self._writer = asker, journal, writer
        self._json_hits = self._json_misses = 0

    async def rewrite(self, problem: Problem) -> None:
        """Bring every kind to its final result, from wherever an earlier run left it."""
        keys = {kind: llm_key(problem, kind, self._prompt, self._settings) for kind in self._kinds}
        results = {kind: self._journal.get(key) or NOT_ASKED for kind, key in keys.items()}
        while unfinished := _where(results, lambda result: not result.final):
            calls, changed = await self._step(problem, unfinished)
            self._writer.write([*calls, *((keys[kind], result) for kind, result in changed.items())])
            results |= changed

    async def _step(self, problem: Problem, unfinished: Results) -> tuple[list[Call], Results]:
        """The next step for some of the kinds: judge what passed, give up what is exhausted, ask for more."""
        for kind, result in unfinished.items():
            if result.status == "unjudged":
                calls, judged = await judge(
                    problem, kind, result, settings=self._settings, prompt=self._prompt, asker=self._asker
                )
                return calls, {kind: judged}
        exhausted = _where(unfinished, lambda result: result.attempts >= self._settings.attempts)
        if exhausted:
            return [], {kind: self._give_up(problem, kind, result) for kind, result in exhausted.items()}
        return await self._ask(problem, unfinished)

    async def _ask(self, problem: Problem, unfinished: Results) -> tuple[list[Call], Results]:
        wanted = list(unfinished)
        attempt = max(result.attempts for result in unfinished.values())
        try:
            reply = await self._asker.ask(
                lambda: self._prompt.rewrite(
                    problem.problem,
                    problem.answer,
                    kinds=self._kinds,
                    wanted=wanted,
                    format=self._asker.endpoint.format,
                    refusals=_refusals(unfinished),
                ),
                wanted,
                model=self._settings.model,
                max_tokens=self._settings.max_tokens * (2 if _was_cut(unfinished) else 1),
                seed=self._settings.seed + attempt,
                problem=problem_hash(problem),
            )
        except Fault as fault:  # already in the journal as a call
            return [], {kind: _refused(result, str(fault)) for kind, result in unfinished.items()}
        parsed = parse_reply(reply.text, reply.finish, wanted, problem.problem)
        self._note_format(parsed)
        call = self._call(reply, problem, parsed)
        return [call], {kind: self._verdict(problem, kind, unfinished[kind], parsed) for kind in wanted}

    def _note_format(self, parsed: Parsed) -> None:
        """Where structured output is accepted but never obeyed, go on with plain text."""
        if self._asker.endpoint.format == "json" and self._settings.format == "auto":
            self._json_hits += bool(parsed.texts)
            self._json_misses += not parsed.texts and parsed.status in ("invalid_reply", "truncated")
            if self._json_misses >= TRIES_WITHOUT_JSON and not self._json_hits:
                self._asker.endpoint.leave_out("response_format")

    def _call(self, reply: Reply, problem: Problem, parsed: Parsed) -> Call:
        return call_of(reply, self._settings, problem_hash(problem), parsed.status, parsed.reason)

    def _verdict(self, problem: Problem, kind: Kind, before: Result, parsed: Parsed) -> Result:
        """What the checks say of one kind of a reply."""
        text = parsed.texts.get(kind)
        if text is None:
            return _refused(before, parsed.fault or parsed.faults[kind])
        if len(text) > 3 * len(problem.problem) + 1000:
            return _refused(before, "too_long: the rewrite is more than three times as long", text[:1000])
        refusal = check(kind, problem.problem, text, problem.answer)
        if refusal is not None:
            return _refused(before, str(refusal), text)
        made = Result(status="made", text=text, provenance=self._provenance(), attempts=before.attempts + 1)
        to_judge = self._settings.judge and kind in JUDGED
        return replace(made, status="unjudged", final=False) if to_judge else made

    def _provenance(self) -> dict[str, Any]:
        settings = self._settings
        given = {} if settings.temperature is None else {"temperature": settings.temperature}
        version = {"generator": "llm", "version": self._prompt.version}
        return {**version, "model": settings.model, "seed": settings.seed, **given}

    def _give_up(self, problem: Problem, kind: Kind, last: Result) -> Result:
        """The attempts are used up: a rule takes over where it can; else none, with the last refusal."""
        if kind in RULES_CAN:
            result = by_rule(problem, kind, self._settings.seed)
            if result.status == "made":
                origin = {**result.provenance, "instead_of": self._settings.model}
                return replace(result, provenance=origin, attempts=last.attempts)
        return replace(last, status="none", final=True)


def _where(results: Results, condition: Callable[[Result], bool]) -> Results:
    return {kind: result for kind, result in results.items() if condition(result)}


def _refused(before: Result, reason: str, text: str | None = None) -> Result:
    return Result(status="refused", text=text, reason=reason, attempts=before.attempts + 1, final=False)


def _refusals(unfinished: Results) -> list[Refused]:
    return [Refused(kind, result.text, result.reason) for kind, result in unfinished.items() if result.reason]


def _was_cut(unfinished: Results) -> bool:
    return any(reason_code(result.reason) == "truncated" for result in unfinished.values())
