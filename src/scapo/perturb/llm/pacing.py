"""When to send: pauses after faults (with jitter), and the limits on requests and cost."""

import asyncio
import random
import time
from collections.abc import Callable

from scapo.perturb.llm.settings import LlmSettings

FIRST_DELAY, LONGEST_DELAY = 0.5, 60.0


class Pace:
    """What the endpoint's answers tell all workers: pause until when, and how long nothing came through."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, rng: random.Random | None = None) -> None:
        self._clock, self._rng = clock, rng or random.Random()
        self._open_at = 0.0
        self._last_answer = clock()
        self.answers = 0

    def closed_for(self) -> float:
        """Seconds until sending may begin again, 0 when it may; spread, so that workers don't collide."""
        left = self._open_at - self._clock()
        return left + self._rng.uniform(0, min(1.0, left)) if left > 0 else 0.0

    def answered(self) -> None:
        self.answers += 1
        self._last_answer = self._clock()

    def silence(self) -> float:
        """Seconds since the endpoint last answered a request as it should."""
        return self._clock() - self._last_answer

    def pause(self, seconds: float) -> None:
        """All workers wait: the endpoint named a time."""
        self._open_at = max(self._open_at, self._clock() + seconds)

    def delay(self, tries: int) -> float:
        """Seconds before try `tries + 1` of one request: doubled each time, capped, with full jitter."""
        return self._rng.uniform(0.1, 1.0) * min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** (tries - 1))


class OverBudget(Exception):
    """A limit on requests or cost is reached; the message says which."""


class Budget:
    """Requests and dollars so far (earlier runs included) against their limits.

    A request reserves the most it can cost before it is sent: requests under way can't break the limit.
    """

    def __init__(self, settings: LlmSettings, requests: int, cost: float) -> None:
        self._settings = settings
        self.requests, self.cost = requests, cost
        self._reserved = 0.0
        self._under_way = 0
        self._freed = asyncio.Condition()

    async def reserve(self, tokens_in: int, tokens_out: int) -> float:
        """Wait until the request fits, and count it; returns what was reserved. Raises OverBudget."""
        most = self._settings.cost(tokens_in, tokens_out)
        async with self._freed:
            while not self._fits(most):
                if not self._under_way:
                    raise OverBudget(f"--max-cost {self._settings.max_cost} would be passed")
                await self._freed.wait()
            limit = self._settings.max_requests
            if limit is not None and self.requests >= limit:
                raise OverBudget(f"--max-requests {limit} is reached")
            self.requests += 1
            self._under_way += 1
            self._reserved += most
        return most

    def _fits(self, most: float) -> bool:
        limit = self._settings.max_cost
        return limit is None or self.cost + self._reserved + most <= limit

    async def settle(self, reserved: float, cost: float) -> None:
        """Replace a reservation by what the request cost (0 where it failed)."""
        async with self._freed:
            self._under_way -= 1
            self._reserved -= reserved
            self.cost += cost
            self._freed.notify_all()
