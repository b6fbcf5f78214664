"""One request to an OpenAI-compatible endpoint, as a value; the client's own retries are off (ours are counted)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import openai

from scapo.perturb.kinds import Kind
from scapo.perturb.llm.faults import Fault, Remedy, fault_of
from scapo.perturb.llm.prompt import Messages
from scapo.perturb.llm.settings import LlmSettings


@dataclass(frozen=True)
class Reply:
    """A reply's text, why it ended, and its tokens (estimated from its length where the endpoint is silent)."""

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
            # a server without keys still needs something in the header
            api_key=key or "none",
            base_url=settings.base_url,
            max_retries=0,
            timeout=settings.timeout,
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
            raw = await self._client.chat.completions.with_raw_response.create(
                messages=messages,
                model=model,
                **options,  # type: ignore[arg-type]
            )
            return _read(raw.content, messages)
        except openai.OpenAIError as error:
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
        """Never let the key into a message; a complaint about a parameter that wasn't sent is a plain refusal."""
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


def schema(wanted: Sequence[Kind]) -> dict[str, Any]:
    """The structured-output request: one string for each wanted kind and nothing else."""
    shape = {
        "type": "object",
        "properties": {str(kind): {"type": "string"} for kind in wanted},
        "required": [str(kind) for kind in wanted],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "rewrites", "strict": True, "schema": shape}}


def _read(content: bytes, messages: Messages) -> Reply:
    """The reply in a response body; anything that isn't one is a Fault to try again."""
    try:
        body = json.loads(content)
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
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        start = content[:100].decode(errors="replace")
        reason = f"the reply is not a chat completion ({error!r}; it begins {start!r})"
        raise Fault("broken_reply", reason, Remedy.WAIT) from error
