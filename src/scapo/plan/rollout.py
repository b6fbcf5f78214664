"""Seconds of a rollout: continuous batching in each engine, from the first step to the longest response's last."""

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from scapo.errors import ScapoError
from scapo.plan.flops import causal_pairs, head_flops, pair_flops, token_flops
from scapo.plan.hardware import Efficiency, Gpu
from scapo.plan.lengths import Lengths, dealt
from scapo.plan.model_shape import ModelShape

TAIL = 0.9
"""The tail begins when this share of an engine's responses is done."""
ADMIT = 0.95
"""No response starts when the caches would then fill more than this share of the room, so that what was just
put back does not return at once. Assumed; vLLM keeps a smaller watermark and puts back more often."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """One rollout engine: `tensor_parallel` GPUs with room for `kv_tokens` tokens and `max_running` sequences."""

    shape: ModelShape
    gpu: Gpu
    efficiency: Efficiency
    tensor_parallel: int
    kv_tokens: float
    max_running: int

    def decode_seconds(self, steps: float, running: int, context: float) -> float:
        """So many steps of `running` sequences whose contexts sum up to `context` tokens at the first of them.

        A step reads all weights and all caches, or is bound by its arithmetic, whichever takes longer.
        """
        shape = self.shape
        seen = steps * context + running * steps * (steps - 1) / 2
        moved = steps * 2 * shape.read_params + seen * shape.kv_bytes
        tokens = steps * running
        work = token_flops(shape, tokens) + head_flops(shape, tokens) + pair_flops(shape, seen)
        reading = moved / (self.gpu.bandwidth * self.efficiency.bandwidth)
        computing = work / (self.gpu.flops * self.efficiency.forward_utilisation)
        return max(reading, computing) / self.tensor_parallel + steps * self.efficiency.step_overhead_s

    def prefill_seconds(self, tokens: float) -> float:
        """One sequence of so many tokens through the layers at once."""
        work = token_flops(self.shape, tokens) + pair_flops(self.shape, causal_pairs(tokens))
        return work / (self.gpu.flops * self.efficiency.forward_utilisation * self.tensor_parallel)


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """seconds of the slowest engine; tail_seconds of them with over 90 % of its responses done.

    running: mean number of sequences per decoding step. preempted: how often a full cache put one back.
    """

    seconds: float
    tail_seconds: float
    running: float
    preempted: int


@dataclass(kw_only=True)
class _Row:
    left: float  # steps to go
    seen: float  # tokens in its cache


def decode(engine: Engine, prompt: float, responses: Lengths) -> Rollout:
    """One engine's decoding, in order of arrival, as vLLM does it.

    A response starts while the caches stay under ADMIT of the room. When they fill it, the newest one loses its
    cache and waits at the front of the queue; its cache is computed again when it goes on.
    """
    _check_room(engine, prompt, responses)
    waiting = deque(_Row(left=float(length), seen=prompt) for length in responses)
    running: list[_Row] = []
    ends: list[float] = []
    clock, steps_done, preempted = 0.0, 0.0, 0
    while waiting or running:
        used = sum(row.seen for row in running)
        while waiting and len(running) < engine.max_running:
            if running and used + waiting[0].seen > ADMIT * engine.kv_tokens:
                break
            row = waiting.popleft()
            clock += engine.prefill_seconds(row.seen) if row.seen > prompt else 0.0
            running.append(row)
            used += row.seen
        steps = min(min(row.left for row in running), (engine.kv_tokens - used) // len(running))
        if steps < 1:
            waiting.appendleft(running.pop())
            preempted += 1
            continue
        clock += engine.decode_seconds(steps, len(running), used)
        steps_done += steps
        for row in running:
            row.left, row.seen = row.left - steps, row.seen + steps
        ends += [clock for row in running if not row.left]
        running = [row for row in running if row.left]
    tail = clock - ends[int(np.ceil(TAIL * len(ends))) - 1]
    mean_running = float(responses.sum()) / steps_done
    return Rollout(seconds=clock, tail_seconds=tail, running=mean_running, preempted=preempted)


def _check_room(engine: Engine, prompt: float, responses: Lengths) -> None:
    need = responses.max() + prompt
    if need > engine.kv_tokens:
        raise ScapoError(
            f"The key-value cache of an engine holds {engine.kv_tokens:,.0f} tokens, a response with its prompt "
            f"needs {need:,.0f}. Use more GPUs per engine (--tensor-parallel), more memory for it "
            "(--rollout-memory), or shorter responses."
        )


def rollout(engine: Engine, engines: int, prompt: float, responses: Lengths, group: int) -> Rollout:
    """All engines side by side: the slowest counts. Each prompt is prefilled once for its group."""
    hands = [hand for hand in dealt(responses, engines) if len(hand)]
    slowest = max((decode(engine, prompt, hand) for hand in hands), key=lambda done: done.seconds)
    prefill = engine.prefill_seconds(prompt) * len(responses) / group / engines
    return replace(slowest, seconds=slowest.seconds + prefill)
