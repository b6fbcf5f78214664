"""Pauses, limits and the reading of faults, without a network."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import openai
import pytest

from scapo.perturb.llm.faults import Remedy, fault_of
from scapo.perturb.llm.pacing import FIRST_DELAY, LONGEST_DELAY, Budget, OverBudget, Pace
from scapo.perturb.llm.settings import LlmSettings


class Response:
    """As much of an HTTP response as an error of the client needs."""

    def __init__(self, status, headers):
        self.status_code, self.headers, self.request = status, headers, None


def fault(status, message="no", body=None, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return fault_of(openai.APIStatusError(message, response=Response(status, headers), body=body))


def test_retry_after_is_read_as_seconds_milliseconds_or_a_date():
    assert fault(429, retry_after="7").retry_after == 7
    assert fault(429, retry_after="0.5").retry_after == 0.5
    assert fault(429, retry_after="7", retry_after_ms="250").retry_after == 0.25
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 50 < fault(503, retry_after=soon).retry_after <= 60
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=60), usegmt=True)
    assert fault(429, retry_after=past).retry_after == 0
    assert fault(429, retry_after="soon").retry_after is None
    assert fault(429).retry_after is None


@pytest.mark.parametrize(
    ("status", "code", "remedy"),
    [
        (401, "key_refused", Remedy.STOP),
        (404, "not_found", Remedy.STOP),
        (429, "rate_limited", Remedy.WAIT),
        (500, "server_error", Remedy.WAIT),
        (529, "server_error", Remedy.WAIT),
        (408, "server_error", Remedy.WAIT),
        (400, "bad_request", Remedy.GIVE_UP),
    ],
)
def test_a_status_has_a_code_and_a_remedy(status, code, remedy):
    found = fault(status)
    assert (found.status, found.remedy) == (code, remedy)


def test_an_optional_parameter_that_is_complained_of_is_named():
    assert fault(400, "'temperature' does not support 0.7").parameter == "temperature"
    assert fault(422, "guided decoding is off").parameter == "response_format"
    assert fault(400, "wrong", body={"param": "seed"}).parameter == "seed"


def test_delays_double_up_to_the_cap_with_jitter():
    pace = Pace(rng=random.Random(0))
    for tries in range(1, 12):
        most = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** (tries - 1))
        delays = [pace.delay(tries) for _ in range(50)]
        assert 0.1 * most <= min(delays) < max(delays) <= most
        assert len(set(delays)) == 50


def test_a_pause_ends_for_all_at_different_moments_and_never_early():
    now = 100.0
    pace = Pace(clock=lambda: now)
    assert pace.closed_for() == 0
    pace.pause(10)
    waits = {pace.closed_for() for _ in range(20)}
    assert 10 <= min(waits) < max(waits) <= 11
    pace.pause(2)  # a shorter one doesn't end it
    assert pace.closed_for() >= 10
    now = 110.0
    assert pace.closed_for() == 0


def test_silence_counts_from_the_last_answer():
    now = 0.0
    pace = Pace(clock=lambda: now)
    now = 30.0
    assert pace.silence() == 30
    pace.answered()
    assert pace.silence() == 0


def test_a_reservation_waits_for_room_and_the_limit_is_never_passed():
    # 1,000 reply tokens at $1 a million reserve 0.001; the limit has room for two at once
    settings = LlmSettings(model="m", max_cost=0.0025, price_in=0.0, price_out=1.0)

    async def main():
        budget = Budget(settings, 0, 0.0)
        first, second = await budget.reserve(0, 1000), await budget.reserve(0, 1000)
        third = asyncio.create_task(budget.reserve(0, 1000))
        await asyncio.sleep(0.01)
        assert not third.done()
        await budget.settle(first, 0.0005)
        assert await asyncio.wait_for(third, 1) == pytest.approx(0.001)
        await budget.settle(second, 0.001)
        await budget.settle(await third, 0.0005)
        assert budget.cost == pytest.approx(0.002)
        with pytest.raises(OverBudget, match=r"--max-cost 0\.0025"):
            await budget.reserve(0, 1000)

    asyncio.run(main())


def test_earlier_runs_count_towards_the_limits():
    async def main():
        with pytest.raises(OverBudget, match="--max-requests 5"):
            await Budget(LlmSettings(model="m", max_requests=5), 5, 0.0).reserve(1, 1)

    asyncio.run(main())
