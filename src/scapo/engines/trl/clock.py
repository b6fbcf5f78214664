"""Seconds of each stage of an optimiser step."""

import time
from typing import Any

from transformers import TrainerCallback

from scapo.engines.trl import metrics


class StepClock(TrainerCallback):
    """Puts the seconds of each stage, the token rate and the peak memory into the trainer's metrics."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self._started = self._total = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._started = time.perf_counter()
        self.trainer._seconds = {}  # an evaluation in between is not part of the step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        trainer, spent = self.trainer, time.perf_counter() - self._started
        seconds = trainer._seconds
        self._total += spent
        found = {
            f"time/{stage}_s": seconds[stage] for stage in ("rollout", "reward", "probe") if stage in seconds
        }
        found["time/update_s"] = spent - seconds.get("score", 0.0) - seconds.get("probe", 0.0)
        found["tokens_per_second"] = trainer.sampled_tokens / self._total
        found["memory/peak_gib"] = metrics.peak_memory_gib()
        for name, value in found.items():
            trainer._metrics["train"][name].append(value)
