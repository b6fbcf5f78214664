"""An Inspect model provider, `scapo/PATH`: batched transformers sampling with a seed per sample.

Inspect's own `hf` provider seeds once per process, draws the whole batch from one generator and reports no
truncation; a sample must not depend on its neighbours, and a cut response must be known as cut.
"""

import asyncio
import queue
import threading
from collections import defaultdict
from concurrent.futures import Future
from functools import cached_property
from typing import Any

import anyio
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from scapo.sampling.generate import Reply, Request
from scapo.sampling.local import LocalModel
from scapo.sampling.noise import next_seed

DEFAULT_MAX_TOKENS = 1024
QUIET_SECONDS = 0.1  # a batch waits at most this long for one more request
Job = tuple[Request, Future[Reply]]


class Batcher:
    """A thread that turns single requests into batches of like length."""

    def __init__(self, model: LocalModel, batch_size: int) -> None:
        self.model, self.batch_size = model, batch_size
        self._arrivals: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._waiting: dict[Any, list[list[Job]]] = defaultdict(list)
        threading.Thread(target=self._serve, daemon=True, name="scapo-generate").start()

    def submit(self, requests: list[Request]) -> list[Future[Reply]]:
        """Queue the requests of one prompt; they'll share a batch."""
        jobs: list[Job] = [(request, Future()) for request in requests]
        self._arrivals.put(jobs)
        return [future for _, future in jobs]

    def close(self) -> None:
        self._arrivals.put(None)

    def _serve(self) -> None:
        while self._gather():
            self._run(self._next_batch())

    def _gather(self) -> bool:
        """Wait for work; then take all that came, and a little longer while a batch isn't full."""
        timeout = QUIET_SECONDS if self._waiting else None
        while True:
            try:
                jobs = self._arrivals.get(timeout=timeout)
            except queue.Empty:
                return True
            if jobs is None:
                return False
            self._waiting[jobs[0][0].batch_key].append(jobs)
            waiting = sum(len(jobs) for groups in self._waiting.values() for jobs in groups)
            timeout = 0.0 if waiting >= self.batch_size else QUIET_SECONDS

    def _next_batch(self) -> list[Job]:
        """Whole groups of about one prompt length, longest first; at least one, up to the batch size.

        A prompt under half the longest one's length waits: padding it would cost more than a further batch.
        """
        key, groups = max(self._waiting.items(), key=lambda item: len(item[1]))
        groups.sort(key=lambda jobs: len(jobs[0][0].prompt_ids), reverse=True)
        batch = groups.pop(0)
        longest = len(batch[0][0].prompt_ids)
        while (
            groups
            and len(batch) + len(groups[0]) <= self.batch_size
            and 2 * len(groups[0][0][0].prompt_ids) >= longest
        ):
            batch = batch + groups.pop(0)
        if not groups:
            del self._waiting[key]
        return batch

    def _run(self, batch: list[Job]) -> None:
        live = [job for job in batch if job[1].set_running_or_notify_cancel()]
        if not live:
            return
        try:
            replies = self.model.reply([request for request, _ in live])
        except Exception as error:  # every waiting sample must learn of it, and the thread must go on
            for _, future in live:
                future.set_exception(error)
            return
        for (_, future), reply in zip(live, replies, strict=True):
            future.set_result(reply)


@modelapi(name="scapo")
class ScapoAPI(ModelAPI):
    """`scapo/PATH_OR_HUB_ID`; arguments: batch_size, device, dtype, gguf_file."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (Inspect's signature)
        *,
        batch_size: int = 32,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self.batch_size = int(batch_size)
        self._model_args = model_args

    @cached_property
    def local(self) -> LocalModel:
        """The model, loaded on first use: Inspect makes further instances only to look up names."""
        return LocalModel(self.model_name, **self._model_args)

    @cached_property
    def _batcher(self) -> Batcher:
        return Batcher(self.local, self.batch_size)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        messages = [{"role": message.role, "content": message.text} for message in input]
        prompt_ids = await anyio.to_thread.run_sync(self.local.prompt_ids, messages)
        requests, limited = self._requests(prompt_ids, config)
        if requests[0].max_tokens < 1:
            return ModelOutput.from_content(self.model_name, "", stop_reason="model_length")
        replies = await asyncio.gather(*map(asyncio.wrap_future, self._batcher.submit(requests)))
        return self._output(len(prompt_ids), replies, "model_length" if limited else "max_tokens")

    def _requests(self, prompt_ids: tuple[int, ...], config: GenerateConfig) -> tuple[list[Request], bool]:
        """One request per choice, with consecutive seeds; and whether the context bounds the length."""
        asked = config.max_tokens or DEFAULT_MAX_TOKENS
        room = asked if self.local.context is None else self.local.context - len(prompt_ids)
        requests = [
            Request(
                prompt_ids=prompt_ids,
                seed=next_seed(config.seed or 0, choice),
                max_tokens=min(asked, room),
                temperature=1.0 if config.temperature is None else config.temperature,
                top_p=1.0 if config.top_p is None else config.top_p,
            )
            for choice in range(config.num_choices or 1)
        ]
        return requests, room < asked

    def _output(self, prompt: int, replies: list[Reply], cut: StopReason) -> ModelOutput:
        choices = [
            ChatCompletionChoice(
                message=ChatMessageAssistant(content=self.local.text(reply), model=self.model_name),
                stop_reason=cut if reply.truncated else "stop",
            )
            for reply in replies
        ]
        response = sum(reply.tokens for reply in replies)
        usage = ModelUsage(input_tokens=prompt, output_tokens=response, total_tokens=prompt + response)
        tokens = {"tokens": [reply.tokens for reply in replies]}
        return ModelOutput(model=self.model_name, choices=choices, usage=usage, metadata=tokens)

    @property
    def choices_per_call(self) -> int:
        """How many samples of a prompt one call may ask for, with consecutive seeds."""
        return self.batch_size

    def max_connections(self) -> int:
        """Enough waiting requests to sort by length."""
        return 16 * self.batch_size

    def max_tokens(self) -> int | None:
        return DEFAULT_MAX_TOKENS

    def describe(self) -> dict[str, Any]:
        return {"provider": "scapo (transformers)", "batch_size": self.batch_size, **self.local.describe()}

    def close(self) -> None:
        if "_batcher" in self.__dict__:
            self._batcher.close()
