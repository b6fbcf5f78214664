"""What can go wrong with a request, as values: a status for the journal and what to do next."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum

import openai

try:
    from aiohttp import ClientError
except ImportError:  # then the plain transport is used, and nothing raises it

    class ClientError(Exception):  # type: ignore[no-redef]
        """Stands in for aiohttp's."""


class Remedy(Enum):
    """WAIT: ask the same again later. ADAPT: ask again without the named parameter.

    GIVE_UP: this request can't succeed, others can. STOP: no request can succeed.
    """

    WAIT = "wait"
    ADAPT = "adapt"
    GIVE_UP = "give_up"
    STOP = "stop"


@dataclass
class Fault(Exception):
    """A failed request; `retry_after` in seconds where the endpoint asked for a pause."""

    status: str
    reason: str
    remedy: Remedy
    retry_after: float | None = None
    parameter: str | None = None

    def __str__(self) -> str:
        return f"{self.status}: {self.reason}"


OPTIONAL = ("response_format", "max_tokens", "temperature", "seed")


def fault_of(error: Exception) -> Fault:
    """Classify an error of the client or, where openai lets one through, of the transport below it."""
    if isinstance(error, openai.APIStatusError):
        return _status_fault(error)
    # with aiohttp a broken connection is called a time-out too
    broke = any(isinstance(e, ClientError) and not isinstance(e, TimeoutError) for e in _causes(error))
    if isinstance(error, openai.APITimeoutError) and not broke:
        return Fault("timeout", "no reply within the time limit", Remedy.WAIT)
    if isinstance(error, openai.APIConnectionError | ClientError):
        return Fault("connection", f"the connection failed ({error.__cause__ or error})", Remedy.WAIT)
    return Fault("broken_reply", f"the reply could not be read ({error})", Remedy.WAIT)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _status_fault(error: openai.APIStatusError) -> Fault:
    code, reason = error.status_code, f"HTTP {error.status_code}: {error.message[:300]}"
    if code in (401, 403):
        return Fault("key_refused", reason, Remedy.STOP)
    if code == 402 or (code == 429 and "insufficient_quota" in (error.code, error.type)):
        return Fault("no_credit", reason, Remedy.STOP)
    if code == 404:
        return Fault("not_found", reason, Remedy.STOP)
    if code == 429:
        return Fault("rate_limited", reason, Remedy.WAIT, _retry_after(error))
    if code in (408, 409, 425) or code >= 500:
        return Fault("server_error", reason, Remedy.WAIT, _retry_after(error))
    parameter = next((name for name in OPTIONAL if name in _blamed(error)), None)
    if parameter:
        return Fault("unsupported", reason, Remedy.ADAPT, parameter=parameter)
    return Fault("bad_request", reason, Remedy.GIVE_UP)


def _blamed(error: openai.APIStatusError) -> str:
    """The parameter named by the endpoint, or its whole message with the ways to say `response_format`."""
    text = f"{error.param or ''} {error.message}".lower()
    aliases = ("json_schema", "structured output", "guided", "grammar")
    return text + (" response_format" if any(alias in text for alias in aliases) else "")


def _retry_after(error: openai.APIStatusError, now: datetime | None = None) -> float | None:
    """Seconds asked for by `retry-after-ms` or `Retry-After` (number or date); None where there are none."""
    headers = error.response.headers
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.replace(".", "", 1).isdigit():
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError):
        return None
