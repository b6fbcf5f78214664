"""Asking until there is an answer: waits out faults, keeps to the budget, stops where asking is useless."""

import asyncio
from collections.abc import Callable, Sequence

from scapo.perturb.journal import Call
from scapo.perturb.kinds import Kind
from scapo.perturb.llm.client import Endpoint, Reply
from scapo.perturb.llm.faults import Fault, Remedy
from scapo.perturb.llm.pacing import Budget, OverBudget, Pace
from scapo.perturb.llm.prompt import Messages
from scapo.perturb.llm.settings import LlmSettings

MAX_TRIES = 8
"""Faults after which one request is given up, if the endpoint answers others meanwhile (429 apart)."""
HOPELESS = 5
"""Requests refused as malformed, with none ever answered, after which the run stops."""


class Stopped(Exception):
    """The run is being stopped; the reason is in `Stop.reason`."""


class Stop:
    """The switch that ends a run softly: requests under way finish and are written, no new one begins."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._event = asyncio.Event()

    def set(self, reason: str) -> None:
        self.reason = self.reason or reason
        self._event.set()

    def check(self) -> None:
        if self.reason is not None:
            raise Stopped

    async def sleep(self, seconds: float) -> None:
        """Sleep, or raise Stopped as soon as the run is stopped."""
        try:
            await asyncio.wait_for(self._event.wait(), max(0.0, seconds))
        except TimeoutError:
            return
        raise Stopped


class Asker:
    """One `ask` for everybody; faults are recorded as they happen."""

    def __init__(
        self,
        settings: LlmSettings,
        endpoint: Endpoint,
        budget: Budget,
        record: Callable[[Call], None],
    ) -> None:
        self.stop, self.pace = Stop(), Pace()
        self.endpoint = endpoint
        self._settings, self._budget, self._record = settings, budget, record
        self._malformed = 0

    async def ask(
        self,
        messages: Callable[[], Messages],
        wanted: Sequence[Kind] = (),
        *,
        model: str,
        max_tokens: int,
        seed: int,
        problem: str,
    ) -> Reply:
        """The endpoint's reply, after as many tries as it takes. `messages` is called anew for each try.

        Raises Fault where this request can't succeed, Stopped where none can or a limit is reached.
        """
        tries, answers_before = 0, self.pace.answers
        while True:
            await self._wait_for_turn()
            try:
                reply = await self._once(messages(), wanted, model=model, max_tokens=max_tokens, seed=seed)
            except Fault as fault:
                self._record(Call(status=fault.status, reason=fault.reason, problem=problem))
                tries += 1
                await self._react(fault, tries, answers_before)
            else:
                self.pace.answered()
                return reply

    async def _wait_for_turn(self) -> None:
        while (left := self.pace.closed_for()) > 0:
            await self.stop.sleep(left)
        self.stop.check()

    async def _once(
        self, messages: Messages, wanted: Sequence[Kind], *, model: str, max_tokens: int, seed: int
    ) -> Reply:
        most_in = sum(len(message["content"].encode(errors="replace")) for message in messages)
        try:
            reserved = await self._budget.reserve(most_in, max_tokens)
        except OverBudget as limit:
            self.stop.set(f"{limit}. Raise the limit to go on.")
            raise Stopped from limit
        cost = 0.0
        try:
            reply = await self.endpoint.complete(
                messages, wanted, model=model, max_tokens=max_tokens, seed=seed
            )
            cost = self._settings.cost(reply.tokens_in, reply.tokens_out)
            return reply
        finally:
            await self._budget.settle(reserved, cost)

    async def _react(self, fault: Fault, tries: int, answers_before: int) -> None:
        """Return to try again, after a pause where one is due; raise where trying again is useless."""
        match fault.remedy:
            case Remedy.ADAPT:
                self.endpoint.leave_out(fault.parameter or "")
            case Remedy.STOP:
                self._halt(fault)
            case Remedy.GIVE_UP:
                self._malformed += 1
                if self._malformed >= HOPELESS and not self.pace.answers:
                    self._halt(fault)
                raise fault
            case Remedy.WAIT:
                await self._wait_out(fault, tries, answers_before)

    async def _wait_out(self, fault: Fault, tries: int, answers_before: int) -> None:
        others_got_through = self.pace.answers > answers_before
        if tries >= MAX_TRIES and others_got_through and fault.status != "rate_limited":
            raise fault
        pause = fault.retry_after or 0.0
        if max(pause, self.pace.silence()) > self._settings.patience:
            self._halt(fault)
        if pause:
            self.pace.pause(pause)
        else:
            await self.stop.sleep(self.pace.delay(tries))

    def _halt(self, fault: Fault) -> None:
        self.stop.set(_sentence(fault, self._settings))
        raise Stopped


def _sentence(fault: Fault, settings: LlmSettings) -> str:
    where = f"{settings.base_url} ({fault.reason})"
    remedies = {
        "key_refused": f"The endpoint refused the key: {where}. Set SCAPO_LLM_API_KEY to a valid key.",
        "no_credit": f"The account has no credit left: {where}.",
        "not_found": f"{settings.model} was not found at {where}. Check --model and --base-url.",
        "unsupported": f"No structured output at {where}. Use --format auto or --format text.",
        "bad_request": f"The endpoint refuses every request: {where}.",
    }
    silent = f"No answer from {where} for {settings.patience:.0f} s (--patience)."
    return remedies.get(fault.status, silent)
