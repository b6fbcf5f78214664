"""What a person sees while a run trains, a bar or plain lines in a log file; and a gentle stop."""

import signal
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from transformers import TrainerCallback

LINES = 20
"""Lines printed over a run where there is no terminal."""


class ShowProgress(TrainerCallback):
    """Steps done, the reward of the latest rollout, its truncation rate and lambda."""

    def __init__(self, label: str, console: Console | None = None) -> None:
        self.label = label
        self.console = console or Console()
        self.bar: Progress | None = None
        self.shown: dict[str, float] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not (state.is_world_process_zero and self.console.is_terminal):
            return
        columns = (
            TextColumn(self.label),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[seen]}"),
        )
        self.bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self.console)
        self.task = self.bar.add_task("train", total=state.max_steps, completed=state.global_step, seen="")
        self.bar.start()

    def on_log(self, args: Any, state: Any, control: Any, **arguments: Any) -> None:
        logs = arguments["logs"]
        names = {"reward/mean": "reward", "completions/clipped_ratio": "truncated", "drift/mean": "drift"}
        self.shown |= {
            short: logs[name] for name, short in names.items() if isinstance(logs.get(name), float)
        }
        if not state.is_world_process_zero or "loss" not in logs:
            return
        seen = "  ".join(f"{name} {value:.3f}" for name, value in self.shown.items())
        if self.bar:
            self.bar.update(self.task, completed=state.global_step, seen=seen)
        elif state.global_step % max(1, state.max_steps // LINES) == 0:
            self.console.print(
                f"{self.label}  step {state.global_step}/{state.max_steps}  {seen}", highlight=False
            )

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.bar:
            self.bar.stop()


class StopAfterStep(TrainerCallback):
    """The first Ctrl-C (or SIGTERM) ends after the step in flight with a checkpoint; the second at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print("\nStopping after this step; its checkpoint is saved. Ctrl-C again stops at once.", flush=True)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.asked:
            control.should_save = control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
