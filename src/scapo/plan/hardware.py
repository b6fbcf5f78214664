"""The GPUs that `scapo plan` knows, and the efficiencies it assumes. Every number can be changed by a flag."""

from collections.abc import Mapping
from dataclasses import dataclass

from scapo.errors import ScapoError

GIB = 2**30

UTILISATION = 0.35
"""Share of the bf16 peak that packed forward and backward passes reach, recomputation counted as work.
Source: torchtitan measured 33 % (plain) to 39 % (torch.compile) for Llama 3.1 8B with FSDP2 on 8 H100
(benchmarks/llama3_h100_202412_torchtitan.md there); engines for RL run plain modules."""
BANDWIDTH_EFFICIENCY = 0.80
STEP_OVERHEAD_S = 1.7e-3
"""Decoding: share of the peak bandwidth, and seconds a decoding step takes beyond reading memory. Fitted here
to four published medians of the time between tokens of Qwen3-8B in vLLM on one H100 (batches of 8 to 64,
replies of about 8,000 tokens; ml-energy/leaderboard, Qwen__Qwen3-8B__gpqa.json); tests/plan holds them."""
RUNTIME_GIB = 2.0
"""Per GPU: CUDA context, NCCL buffers, CUDA graphs, fragmentation. Assumed."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU. flops: dense bf16 peak per second. bandwidth: bytes per second. memory: bytes."""

    name: str
    flops: float
    bandwidth: float
    memory: float


@dataclass(frozen=True, kw_only=True)
class Efficiency:
    """What is reached of the peaks; see the constants of this module."""

    utilisation: float = UTILISATION
    forward_utilisation: float = UTILISATION
    bandwidth: float = BANDWIDTH_EFFICIENCY
    step_overhead_s: float = STEP_OVERHEAD_S

    def __post_init__(self) -> None:
        for name in ("utilisation", "forward_utilisation", "bandwidth"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise ScapoError(f"The efficiency {name} is {value}; it is a share, above 0 and at most 1.")
        if self.step_overhead_s < 0:
            raise ScapoError(
                f"The overhead of a decoding step is {self.step_overhead_s} s; it can't be negative."
            )


def _gpu(name: str, tflops: float, tb_per_s: float, gib: float) -> Gpu:
    return Gpu(name=name, flops=tflops * 1e12, bandwidth=tb_per_s * 1e12, memory=gib * GIB)


GPUS: Mapping[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        # NVIDIA's data sheets: dense bf16 tensor peak, memory bandwidth, and usable memory in GiB.
        _gpu("a100-80gb", 312, 2.039, 80),
        _gpu("h100", 989, 3.35, 80),
        _gpu("h200", 989, 4.8, 140),
        _gpu("l40s", 362, 0.864, 45),
        _gpu("rtx-4090", 165, 1.008, 24),
    )
}


def find_gpu(name: str) -> Gpu:
    """The GPU of that name.

    Raises:
        ScapoError: with the known names.
    """
    try:
        return GPUS[name.lower()]
    except KeyError:
        raise ScapoError(
            f"No GPU named {name!r} is known. Known are {', '.join(GPUS)}; for another one give "
            "--peak-tflops, --bandwidth-tbs and --memory-gib with the nearest of them."
        ) from None


def changed_gpu(gpu: Gpu, tflops: float | None, tb_per_s: float | None, gib: float | None) -> Gpu:
    """The GPU with its peak (TFLOP/s), bandwidth (TB/s) and memory (GiB) replaced where given."""
    flags = {"--peak-tflops": tflops, "--bandwidth-tbs": tb_per_s, "--memory-gib": gib}
    for flag, value in flags.items():
        if value is not None and not value > 0:
            raise ScapoError(f"{flag} is {value}; it must be above 0.")
    return Gpu(
        name=gpu.name,
        flops=gpu.flops if tflops is None else tflops * 1e12,
        bandwidth=gpu.bandwidth if tb_per_s is None else tb_per_s * 1e12,
        memory=gpu.memory if gib is None else gib * GIB,
    )
