"""What is planned: the run's sizes, checked."""

from dataclasses import dataclass, field
from pathlib import Path

from scapo.errors import ScapoError
from scapo.plan.hardware import Efficiency, Gpu
from scapo.plan.lengths import LENGTH_CV, Lengths, assumed_lengths, measured_lengths
from scapo.plan.model_shape import ModelShape

PADDINGS = ("packed", "sorted", "unsorted")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A run. Defaults are the paper's 4B run where it states them (prompt and mean lengths are not).

    prompts x responses are sampled together and feed `updates` optimiser steps. response: the token limit.
    early_mean: mean response length while the probe runs (None: as in the rest of the run).
    n_0: optimiser steps with probing. share_prompts: each rewrite's prompt runs once for its group.
    rescore: the probe also scores the original prompt, instead of reusing the old log-probs.
    padding: packed rows, or rectangular batches of `probe_rows`, of like lengths (sorted) or not.
    """

    shape: ModelShape
    gpu: Gpu
    gpus: int
    efficiency: Efficiency = field(default_factory=Efficiency)
    prompts: int = 128
    responses: int = 8
    updates: int = 2
    steps: int = 600
    n_0: int = 120
    perturbations: int = 4
    prompt: int = 200
    response: int = 16_384
    mean: float = 4_096
    early_mean: float | None = None
    cv: float = LENGTH_CV
    lengths: Path | None = None
    share_prompts: bool = False
    rescore: bool = False
    padding: str = "packed"
    probe_rows: int = 8
    checkpointing: bool = True
    tensor_parallel: int = 1
    rollout_memory: float = 0.6
    max_running: int = 1024
    micro_tokens: int = 0
    offload: bool = False

    def __post_init__(self) -> None:
        sizes = ("gpus", "prompts", "responses", "updates", "steps", "prompt", "response", "probe_rows")
        for name in (*sizes, "tensor_parallel", "max_running"):
            _at_least(name, getattr(self, name), 1)
        for name in ("n_0", "perturbations", "micro_tokens"):
            _at_least(name, getattr(self, name), 0)
        if self.gpus % self.tensor_parallel:
            raise ScapoError(
                f"{self.gpus} GPUs can't be split into engines of {self.tensor_parallel}. Give a divisor of the "
                "number of GPUs with --tensor-parallel."
            )
        if self.prompts % self.updates:
            raise ScapoError(
                f"{self.prompts} prompts can't be split over {self.updates} optimiser steps. Give a divisor with --updates."
            )
        if self.padding not in PADDINGS:
            raise ScapoError(f"The padding {self.padding!r} is not one of {', '.join(PADDINGS)} (--padding).")

    @property
    def rows(self) -> int:
        """Responses of a rollout batch."""
        return self.prompts * self.responses

    @property
    def micro_batch(self) -> int:
        """Tokens of a micro-batch on one GPU: as given, else twice the longest row."""
        return self.micro_tokens or 2 * (self.prompt + self.response)

    def row_lengths(self, mean: float | None = None) -> Lengths:
        if self.lengths is not None:
            return measured_lengths(self.lengths, self.rows, self.response)
        return assumed_lengths(self.rows, self.mean if mean is None else mean, self.response, self.cv)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ScapoError(f"--{name.replace('_', '-')} is {value}; it must be {least} or more.")
