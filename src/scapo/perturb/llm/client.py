"""One request to an OpenAI-compatible endpoint, as a value. The client's own retries are off: ours count."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import openai

from scapo.perturb.journal import Call
from scapo.perturb.kinds import Kind
from scapo.perturb.llm.faults import ClientError, Fault, Remedy, fault_of
from scapo.perturb.llm.prompt import Messages
from scapo.perturb.llm.settings import LlmSettings


@dataclass(frozen=True)
class Reply:
    """A reply's text, why it ended, and its tokens (estimated from its length where they aren't told)."""

    text: str
    finish: str
    tokens_in: int
    tokens_out: int


class Endpoint:
    """The endpoint with what it turned out not to support: such parameters are left out from then on."""

    def __init__(self, settings: LlmSettings, key: str | None) -> None:
        self.settings = settings
        self._key = key
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",  # a server without keys still needs something in the header
            base_url=settings.base_url,
            max_retries=0,
            timeout=settings.timeout,
            http_client=_http_client(),
        )
        self._without: set[str] = {"response_format"} if settings.format == "text" else set()

    @property
    def format(self) -> str:
        """json while structured output is believed to work, else text."""
        return "text" if "response_format" in self._without else "json"

    def leave_out(self, parameter: str) -> None:
        """Stop sending a parameter. `max_tokens` is then sent under its newer name."""
        self._without.add(parameter)

    async def complete(
        self, messages: Messages, wanted: Sequence[Kind] = (), *, model: str, max_tokens: int, seed: int
    ) -> Reply:
        """One completion; with `wanted`, as a JSON object of these keys where supported. Raises Fault."""
        options = self._options(wanted, max_tokens, seed)
        try:
            # the typed method would check each field of the request, for more time than all the rest takes
            body = {"messages": messages, "model": model, **options}
            return _read(await self._client.post("/chat/completions", body=body, cast_to=object), messages)
        except ValueError as error:  # the body calls itself JSON and isn't
            raise Fault("broken_reply", f"the reply could not be read ({error})", Remedy.WAIT) from None
        except (openai.OpenAIError, ClientError) as error:
            raise self._scrubbed(fault_of(error), options) from None

    def _options(self, wanted: Sequence[Kind], max_tokens: int, seed: int) -> dict[str, Any]:
        options: dict[str, Any] = {"max_tokens": max_tokens, "seed": seed}
        if self.settings.temperature is not None:
            options["temperature"] = self.settings.temperature
        if wanted:
            options["response_format"] = schema(wanted)
        renamed = {"max_completion_tokens": max_tokens} if "max_tokens" in self._without else {}
        return {name: value for name, value in options.items() if name not in self._without} | renamed

    def _scrubbed(self, fault: Fault, sent: dict[str, Any]) -> Fault:
        """Keep the key out of messages; a complaint about a parameter not sent is a plain refusal."""
        if self._key:
            fault.reason = fault.reason.replace(self._key, "[key]")
        if fault.remedy is Remedy.ADAPT and fault.parameter not in sent:
            fault.remedy, fault.status = Remedy.GIVE_UP, "bad_request"
        if (
            fault.remedy is Remedy.ADAPT
            and fault.parameter == "response_format"
            and self.settings.format == "json"
        ):
            fault.remedy = Remedy.STOP
        return fault

    async def close(self) -> None:
        await self._client.close()


def _http_client() -> Any:
    """aiohttp where it is installed: a request takes half the processor time, however many are under way."""
    try:
        return openai.DefaultAioHttpClient()
    except RuntimeError:  # openai's way to say that it is not
        return openai.DefaultAsyncHttpxClient()


def schema(wanted: Sequence[Kind]) -> dict[str, Any]:
    """The structured-output request: one string for each wanted kind and nothing else."""
    shape = {
        "type": "object",
        "properties": {str(kind): {"type": "string"} for kind in wanted},
        "required": [str(kind) for kind in wanted],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "rewrites", "strict": True, "schema": shape}}


def call_of(reply: Reply, settings: LlmSettings, problem: str, status: str, reason: str = "") -> Call:
    """A reply as a journal entry, with its tokens and cost."""
    return Call(
        status=status,
        reason=reason,
        problem=problem,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        cost=settings.cost(reply.tokens_in, reply.tokens_out),
    )


def _read(body: Any, messages: Messages) -> Reply:
    """The reply in a response body; anything that isn't one is a Fault to try again."""
    try:
        choice = body["choices"][0]
        text = choice["message"].get("content") or ""
        refusal = choice["message"].get("refusal")
        usage = body.get("usage") or {}
        sent = sum(len(message["content"]) for message in messages)
        return Reply(
            text=str(text or refusal or ""),
            finish="refusal" if refusal and not text else str(choice.get("finish_reason")),
            tokens_in=int(usage.get("prompt_tokens") or sent // 3),
            tokens_out=int(usage.get("completion_tokens") or len(str(text)) // 3),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"the reply is not a chat completion ({error!r}; it begins {str(body)[:100]!r})"
        raise Fault("broken_reply", reason, Remedy.WAIT) from error
