"""Answers generation requests from a transformers model on the CPU, many at a time. Imports no verl: starts fast."""

import asyncio
import types

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from scapo.sampling.generate import Request, generate

PAUSE = 0.05
"""Seconds without a new request after which the waiting ones are answered together."""


class HfServer:
    def __init__(self, model, max_tokens):
        torch.set_num_threads(1)
        self.model = AutoModelForCausalLM.from_pretrained(model, dtype="float32").eval()
        tokenizer = AutoTokenizer.from_pretrained(model)
        self.stop = tokenizer.eos_token_id
        self.max_tokens = max_tokens
        self.step = self.served = 0
        self.waiting = []
        self.timer = None

    def load(self, state, step):
        missing = self.model.load_state_dict(
            {name: value.float() for name, value in state.items()}, strict=False
        ).missing_keys
        assert set(missing) <= {"lm_head.weight"}, missing
        self.step = step

    async def generate(self, request_id, prompt_ids, sampling_params, **_):
        done = asyncio.get_running_loop().create_future()
        self.served += 1
        request = Request(
            prompt_ids=tuple(prompt_ids),
            seed=self.step * 1_000_003 + self.served,
            max_tokens=self.max_tokens,
            temperature=float(sampling_params["temperature"]) or 1e-4,
            top_p=1.0,
        )
        self.waiting.append((request, done))
        if self.timer:
            self.timer.cancel()
        self.timer = asyncio.get_running_loop().call_later(PAUSE, self._answer)
        return await done

    def _answer(self):
        batch, self.waiting, self.timer = self.waiting, [], None
        for key in {request.batch_key for request, _ in batch}:
            chosen = [pair for pair in batch if pair[0].batch_key == key]
            replies = generate(self.model, [request for request, _ in chosen], frozenset([self.stop]))
            for reply, (_, done) in zip(replies, chosen, strict=True):
                done.set_result(self._output(reply))

    def _output(self, reply):
        ended = len(reply.ids) < reply.tokens
        return types.SimpleNamespace(
            token_ids=reply.ids + [self.stop] * ended,
            log_probs=None,
            routed_experts=None,
            stop_reason="completed",
            num_preempted=None,
            extra_fields={"global_steps": self.step},
        )

    async def nothing(self, *args, **kwargs):
        pass

    sleep = wake_up = abort_all_requests = resume_generation = clear_kv_cache = nothing
