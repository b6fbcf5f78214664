"""Time of a rollout batch and of a run, phase by phase."""

import math
from dataclasses import dataclass

from scapo.plan.flops import forward_flops, update_flops
from scapo.plan.lengths import Lengths, padded
from scapo.plan.memory import RolloutMemory, TrainMemory, rollout_memory, train_memory
from scapo.plan.rollout import Engine, Rollout, rollout
from scapo.plan.setting import Setting


@dataclass(frozen=True, kw_only=True)
class Phase:
    """FLOPs of all GPUs together, and seconds."""

    flops: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class BatchCost:
    """One rollout batch: sampling, the old log-probs, the probe (when it runs), and all its optimiser steps."""

    mean_length: float
    truncated: float
    sampling: Rollout
    rollout: Phase
    old_logprobs: Phase
    probe: Phase
    update: Phase

    @property
    def seconds(self) -> float:
        """Of a batch without the probe."""
        return self.rollout.seconds + self.old_logprobs.seconds + self.update.seconds

    @property
    def seconds_probed(self) -> float:
        return self.seconds + self.probe.seconds


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """A run of `batches` rollout batches, the first `probed` of them with the probe. Seconds of each phase."""

    batches: int
    probed: int
    rollout: float
    old_logprobs: float
    probe: float
    update: float

    @property
    def seconds(self) -> float:
        return self.rollout + self.old_logprobs + self.probe + self.update

    @property
    def added(self) -> float:
        """What the probe adds to the run without it."""
        return self.probe / (self.seconds - self.probe)


def memory(setting: Setting) -> tuple[TrainMemory, RolloutMemory]:
    train = train_memory(
        setting.shape, setting.gpus, setting.micro_batch, checkpointing=setting.checkpointing
    )
    resident = 0.0 if setting.offload else train.resident
    return train, rollout_memory(
        setting.shape, setting.gpu, setting.rollout_memory, setting.tensor_parallel, resident
    )


def batch_cost(setting: Setting, mean: float | None = None) -> BatchCost:
    """One rollout batch whose responses have this mean length (None: the setting's)."""
    lengths = setting.row_lengths(mean)
    shape, prompt = setting.shape, float(setting.prompt)
    engine = Engine(
        shape=shape,
        gpu=setting.gpu,
        efficiency=setting.efficiency,
        tensor_parallel=setting.tensor_parallel,
        kv_tokens=memory(setting)[1].kv_tokens,
        max_running=setting.max_running,
    )
    sampling = rollout(engine, setting.gpus // setting.tensor_parallel, prompt, lengths, setting.responses)
    sampled = forward_flops(shape, prompt, lengths, group=setting.responses)
    return BatchCost(
        mean_length=float(lengths.mean()),
        truncated=float((lengths >= setting.response).mean()),
        sampling=sampling,
        rollout=Phase(flops=sampled, seconds=sampling.seconds),
        old_logprobs=_forward(setting, forward_flops(shape, prompt, lengths)),
        probe=probe_phase(setting, lengths),
        update=update_phase(setting, lengths),
    )


def probe_phase(setting: Setting, lengths: Lengths) -> Phase:
    return _forward(setting, probe_flops(setting, lengths))


def probe_flops(setting: Setting, lengths: Lengths) -> float:
    """K forward passes (one more when the original prompt is scored again), with their padding."""
    passes = setting.perturbations + (1 if setting.rescore and setting.perturbations else 0)
    if setting.padding != "packed":
        lengths = padded(lengths, setting.probe_rows, ordered=setting.padding == "sorted")
    group = setting.responses if setting.share_prompts else 1
    return passes * forward_flops(setting.shape, float(setting.prompt), lengths, group=group)


def _forward(setting: Setting, flops: float) -> Phase:
    speed = setting.gpus * setting.gpu.flops * setting.efficiency.forward_utilisation
    return Phase(flops=flops, seconds=flops / speed)


def update_phase(setting: Setting, lengths: Lengths) -> Phase:
    flops = update_flops(setting.shape, float(setting.prompt), lengths, checkpointing=setting.checkpointing)
    speed = setting.gpus * setting.gpu.flops * setting.efficiency.utilisation
    return Phase(flops=flops, seconds=flops / speed)


def run_cost(setting: Setting, rest: BatchCost | None = None, early: BatchCost | None = None) -> RunCost:
    """The whole run: batches with the probe at the early length, the others at the setting's.

    A batch that holds any of the first n_0 optimiser steps is probed. rest, early: costs already worked out.
    """
    batches = math.ceil(setting.steps / setting.updates)
    probed = min(batches, math.ceil(setting.n_0 / setting.updates)) if setting.perturbations else 0
    rest = rest or batch_cost(setting)
    if early is None:
        early = rest if setting.early_mean is None else batch_cost(setting, setting.early_mean)

    def total(name: str) -> float:
        one, other = getattr(early, name).seconds, getattr(rest, name).seconds
        return probed * one + (batches - probed) * other

    return RunCost(
        batches=batches,
        probed=probed,
        rollout=total("rollout"),
        old_logprobs=total("old_logprobs"),
        probe=probed * early.probe.seconds,
        update=total("update"),
    )
