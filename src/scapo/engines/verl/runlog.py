"""metrics.jsonl beside verl's own tracker: one line per rollout, under the names of docs/files.md."""

from pathlib import Path
from typing import Any

import numpy as np

from scapo.algorithm import LambdaSchedule
from scapo.engines.rewind import rewind
from scapo.files import JsonlAppender

METRICS = "metrics.jsonl"
FROM_VERL = {
    "critic/score/mean": "reward/mean",
    "response_length/mean": "length/mean",
    "response_length/clip_ratio": "length/truncated",
    "actor/pg_loss": "loss",
    "actor/entropy": "entropy",
    "actor/grad_norm": "grad_norm",
    "actor/lr": "learning_rate",
    "actor/pg_clipfrac": "clip/any",
    "actor/pg_clipfrac_lower": "clip/dual",
    "timing_s/gen": "time/rollout_s",
    "timing_s/old_log_prob": "time/logprob_s",
    "timing_s/probe": "time/probe_s",
    "timing_s/update_actor": "time/update_s",
    "timing_s/update_weights": "time/weights_s",
    "timing_s/step": "time/step_s",
    "perf/throughput": "tokens_per_second",
    "perf/max_memory_allocated_gb": "memory/peak_gib",
    "scapo/lambda": "lambda",
}
"""verl's names and ours. Names that begin as OURS are ours already."""
OURS = ("drift/", "credit/", "reward/")


class RunLog:
    """verl's tracker, which also writes our file.

    A line's `step` is the last optimiser step of its rollout. When training starts at verl's step s, lines of
    later steps are cut off: they will be made again.
    """

    def __init__(
        self, tracking: Any, folder: str, schedule: LambdaSchedule, updates: int, started_after: int
    ) -> None:
        self.tracking, self.schedule, self.updates = tracking, schedule, updates
        path = Path(folder) / METRICS
        rewind(path, started_after * updates)
        self.file = JsonlAppender(path)

    def log(self, data: dict[str, Any], step: int) -> None:
        self.tracking.log(data=data, step=step)
        if "training/global_step" in data:  # not for a validation before training
            self.file.append(step_row(step * self.updates, self.schedule, data), sync=False)

    def finish(self, **arguments: Any) -> None:
        self.file.close()
        self.tracking.finish(**arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tracking, name)


def step_row(step: int, schedule: LambdaSchedule, data: dict[str, Any]) -> dict[str, Any]:
    """One line: numbers that are there and finite."""
    row: dict[str, Any] = {"step": step, "lambda": schedule.at(step)}
    for name, value in data.items():
        ours = FROM_VERL.get(name, name if name.startswith(OURS) else None)
        if ours and ours != "lambda" and isinstance(value, int | float | np.number) and np.isfinite(value):
            row[ours] = float(value)
    return row
