"""Seconds of a rollout: continuous batching in each engine, from the first step to the longest response's last."""

from dataclasses import dataclass

import numpy as np

from scapo.errors import ScapoError
from scapo.plan.flops import head_flops, pair_flops, token_flops
from scapo.plan.hardware import Efficiency, Gpu
from scapo.plan.lengths import Lengths, dealt
from scapo.plan.model_shape import ModelShape

TAIL = 0.9
"""The tail begins when this share of an engine's responses is done."""


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


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """seconds of the slowest engine; tail_seconds of them with over 90 % of its responses done.

    running: mean number of sequences per decoding step. waiting: responses that could not start at once.
    """

    seconds: float
    tail_seconds: float
    running: float
    waiting: int


def decode(engine: Engine, prompt: float, responses: Lengths) -> Rollout:
    """One engine's decoding. A response starts as soon as its whole cache fits; nothing is preempted."""
    need = responses + prompt
    if need.max() > engine.kv_tokens:
        raise ScapoError(
            f"The key-value cache of an engine holds {engine.kv_tokens:,.0f} tokens, a response with its prompt "
            f"needs {need.max():,.0f}. Use more GPUs per engine (--tensor-parallel), more memory for it "
            "(--rollout-memory), or shorter responses."
        )
    clock, next_up, steps_done, reserved = 0.0, 0, 0.0, 0.0
    left: list[float] = []  # steps to go of each running response
    context: list[float] = []
    ends: list[float] = []
    waiting = 0
    while len(ends) < len(responses):
        while (
            next_up < len(responses)
            and len(left) < engine.max_running
            and reserved + need[next_up] <= engine.kv_tokens
        ):
            left.append(float(responses[next_up]))
            context.append(prompt)
            reserved += float(need[next_up])
            next_up += 1
        waiting = waiting or len(responses) - next_up
        steps = min(left)
        clock += engine.decode_seconds(steps, len(left), sum(context))
        steps_done += steps
        reserved -= sum(seen + steps for seen, more in zip(context, left, strict=True) if more == steps)
        ends += [clock] * left.count(steps)
        alive = [(more - steps, seen + steps) for more, seen in zip(left, context, strict=True) if more > steps]
        left, context = [more for more, _ in alive], [seen for _, seen in alive]
    tail = clock - ends[int(np.ceil(TAIL * len(ends))) - 1]
    return Rollout(
        seconds=clock, tail_seconds=tail, running=float(responses.sum()) / steps_done, waiting=waiting
    )


def rollout(engine: Engine, engines: int, prompt: float, responses: Lengths, group: int) -> Rollout:
    """All engines side by side: the slowest counts. Each prompt is prefilled once for its group."""
    hands = [hand for hand in dealt(responses, engines) if len(hand)]
    slowest = max((decode(engine, prompt, hand) for hand in hands), key=lambda done: done.seconds)
    prefill = token_flops(engine.shape, prompt * len(responses) / group) / (
        engine.gpu.flops * engine.efficiency.forward_utilisation * engine.tensor_parallel * engines
    )
    return Rollout(
        seconds=slowest.seconds + prefill,
        tail_seconds=slowest.tail_seconds,
        running=slowest.running,
        waiting=slowest.waiting,
    )
