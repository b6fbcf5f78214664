"""What a training run leaves on disk beside its checkpoints: metrics.jsonl and samples.jsonl."""

from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from scapo.algorithm import LambdaSchedule
from scapo.engines.rewind import rewind
from scapo.engines.trl import metrics
from scapo.files import JsonlAppender

METRICS, SAMPLES = "metrics.jsonl", "samples.jsonl"


class RunFiles(TrainerCallback):
    """Writes one line per logged optimiser step and one per response, on the main process.

    When training starts at step s (0, or a checkpoint's step), lines of later steps are cut off first: they
    belong to steps that will be taken again.
    """

    def __init__(self, folder: Path | str, schedule: LambdaSchedule) -> None:
        self.folder = Path(folder)
        self.schedule = schedule
        self.extra: dict[str, Any] = {}
        """What the next line of metrics.jsonl holds besides the logged numbers (such as a histogram)."""
        self._open: dict[str, JsonlAppender] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            for name in (METRICS, SAMPLES):
                rewind(self.folder / name, state.global_step)
                self._open[name] = JsonlAppender(self.folder / name)

    def on_log(self, args: Any, state: Any, control: Any, **arguments: Any) -> None:
        logs = arguments["logs"]
        if state.is_world_process_zero and "loss" in logs and METRICS in self._open:
            row = metrics.step_row(state.global_step, self.schedule.at(state.global_step), logs, self.extra)
            self._open[METRICS].append(row, sync=False)
        self.extra = {}

    def write_samples(self, rows: list[dict[str, Any]]) -> None:
        """Append one line per response; does nothing on other processes or outside training."""
        if SAMPLES in self._open:
            self._open[SAMPLES].append(*rows, sync=False)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        for file in self._open.values():
            file.close()
        self._open = {}
