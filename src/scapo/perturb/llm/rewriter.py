"""One problem from its first request to a final result for each kind; every step is in the journal before the next.

A kind's life: asked (again, with the reason of its refusal) until a text passes the checks (and the judge) or the
attempts are used up; then a rule takes over where one can.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scapo.perturb.checks import check
from scapo.perturb.journal import Call, Journal, Key, Result, problem_hash, reason_code
from scapo.perturb.kinds import Kind
from scapo.perturb.llm.asker import Asker
from scapo.perturb.llm.client import Reply
from scapo.perturb.llm.faults import Fault
from scapo.perturb.llm.prompt import Prompt, Refused
from scapo.perturb.llm.reply import Parsed, parse_reply
from scapo.perturb.llm.settings import LlmSettings
from scapo.perturb.llm.writer import Entry, GroupWriter
from scapo.perturb.run import by_rule
from scapo.problems import Problem

RULES_CAN = (Kind.TYPO_NOISE, Kind.SCENARIO_WRAP, Kind.IRRELEVANT_CONTEXT)
JUDGED = (Kind.PARAPHRASE, Kind.SCENARIO_WRAP, Kind.COUNTERFACTUAL)
"""Kinds with free wording; the checks settle the other two character by character."""
NOT_ASKED = Result(status="new", attempts=0, final=False)
TRIES_WITHOUT_JSON = 5
_VERDICT = re.compile(r"\b(SAME|DIFFERENT)\b", re.IGNORECASE)
_FINISH_FAULTS = {
    "length": "truncated: the reply was cut at the token limit",
    "content_filter": "content_filter: the endpoint's filter held the reply back",
    "refusal": "declined: the model declined",
}

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
        writer: GroupWriter,
    ) -> None:
        self._settings, self._prompt, self._kinds = settings, prompt, kinds
        self._asker, self._journal, self._writer = asker, journal, writer
        self._json_hits = self._json_misses = 0

    async def rewrite(self, problem: Problem) -> Results:
        """Bring every kind to its final result, from wherever an earlier run left it."""
        results = {kind: self._journal.get(self._key(problem, kind)) or NOT_ASKED for kind in self._kinds}
        while unfinished := {kind: result for kind, result in results.items() if not result.final}:
            results |= await self._step(problem, unfinished)
        return results

    async def _step(self, problem: Problem, unfinished: Results) -> Results:
        """The next step for some of the kinds: judge what passed, give up what is exhausted, or ask for the rest."""
        call: list[Entry] = []
        if unjudged := _where(unfinished, lambda result: result.status == "unjudged"):
            changed = {kind: await self._judge(problem, kind, result) for kind, result in unjudged.items()}
        elif exhausted := _where(unfinished, lambda result: result.attempts >= self._settings.attempts):
            changed = {kind: self._give_up(problem, kind, result) for kind, result in exhausted.items()}
        else:
            call, changed = await self._ask(problem, unfinished)
        entries: list[Entry] = [(self._key(problem, kind), result) for kind, result in changed.items()]
        await self._writer.write(call + entries)
        return changed

    def _key(self, problem: Problem, kind: Kind) -> Key:
        return llm_key(problem, kind, self._prompt, self._settings)

    async def _ask(self, problem: Problem, unfinished: Results) -> tuple[list[Entry], Results]:
        attempt = max(result.attempts for result in unfinished.values())
        try:
            reply = await self._asker.ask(
                lambda: self._prompt.rewrite(
                    problem.problem,
                    problem.answer,
                    kinds=self._kinds,
                    wanted=list(unfinished),
                    format=self._asker.endpoint.format,
                    refusals=_refusals(unfinished),
                ),
                list(unfinished),
                model=self._settings.model,
                max_tokens=self._settings.max_tokens * (2 if _was_cut(unfinished) else 1),
                seed=self._settings.seed + attempt,
                problem=problem_hash(problem),
            )
        except Fault as fault:
            return [], {kind: _refused(result, str(fault)) for kind, result in unfinished.items()}
        parsed = read_reply(reply, list(unfinished), problem.problem)
        self._note_format(parsed)
        call = self._call(reply, problem, parsed.fault)
        return [call], {kind: self._verdict(problem, kind, unfinished[kind], parsed) for kind in unfinished}

    def _note_format(self, parsed: Parsed) -> None:
        """Where structured output is accepted but never obeyed, go on with plain text."""
        if self._asker.endpoint.format == "json" and self._settings.format == "auto":
            self._json_hits += bool(parsed.texts)
            self._json_misses += reason_code(parsed.fault) == "invalid_reply"
            if self._json_misses >= TRIES_WITHOUT_JSON and not self._json_hits:
                self._asker.endpoint.leave_out("response_format")

    def _call(self, reply: Reply, problem: Problem, fault: str | None, status: str = "ok") -> Call:
        return Call(
            status=reason_code(fault) if fault else status,
            reason=fault or "",
            problem=problem_hash(problem),
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            cost=self._settings.cost(reply.tokens_in, reply.tokens_out),
        )

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
        given = {"temperature": self._settings.temperature} if self._settings.temperature is not None else {}
        return {
            "generator": "llm",
            "version": self._prompt.version,
            "model": self._settings.model,
            "seed": self._settings.seed,
            **given,
        }

    async def _judge(self, problem: Problem, kind: Kind, result: Result) -> Result:
        """Ask for a second opinion on a text that passed the checks."""
        if not self._settings.judge:  # left behind by an earlier run that had a judge
            return replace(result, status="made", final=True)
        model = self._settings.judge_model or self._settings.model
        try:
            reply = await self._asker.ask(
                lambda: self._prompt.judge(problem.problem, result.text or ""),
                model=model,
                max_tokens=self._settings.max_tokens,
                seed=self._settings.seed,
                problem=problem_hash(problem),
            )
        except Fault as fault:
            return _judged_out(result, f"judge_failed: {fault}")
        words = {word.upper() for word in _VERDICT.findall(reply.text.rpartition("</think>")[2])}
        word = words.pop() if len(words) == 1 else "UNCLEAR"
        await self._writer.write([self._call(reply, problem, None, f"judge_{word.lower()}")])
        if word != ("DIFFERENT" if kind is Kind.COUNTERFACTUAL else "SAME"):
            return _judged_out(result, f"judge_{word.lower()}: {model} finds the answers {word.lower()}")
        return replace(result, status="made", final=True, provenance={**result.provenance, "judge": model})

    def _give_up(self, problem: Problem, kind: Kind, last: Result) -> Result:
        """The attempts are used up: a rule takes over where it can; else none, with the last refusal."""
        if kind in RULES_CAN:
            result = by_rule(problem, kind, self._settings.seed)
            if result.status == "made":
                origin = {**result.provenance, "instead_of": self._settings.model}
                return replace(result, provenance=origin, attempts=last.attempts)
        return replace(last, status="none", final=True)


def read_reply(reply: Reply, wanted: Sequence[Kind], original: str) -> Parsed:
    """The texts of a reply that ended by itself; a reply that was cut or held back has none."""
    if reply.finish in _FINISH_FAULTS:
        return Parsed(fault=_FINISH_FAULTS[reply.finish])
    return parse_reply(reply.text, wanted, original)


def _where(results: Mapping[Kind, Result], condition: Any) -> Results:
    return {kind: result for kind, result in results.items() if condition(result)}


def _refused(before: Result, reason: str, text: str | None = None) -> Result:
    return Result(status="refused", text=text, reason=reason, attempts=before.attempts + 1, final=False)


def _judged_out(result: Result, reason: str) -> Result:
    return Result(status="refused", text=result.text, reason=reason, attempts=result.attempts, final=False)


def _refusals(unfinished: Results) -> list[Refused]:
    return [Refused(kind, result.text, result.reason) for kind, result in unfinished.items() if result.reason]


def _was_cut(unfinished: Results) -> bool:
    return any(reason_code(result.reason) == "truncated" for result in unfinished.values())
