"""The grid of runs: `scapo train` and `scapo evaluate` as processes of their own, finished ones skipped.

A process per run keeps runs apart: a crash or a lack of memory costs one cell, not the comparison.
"""

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.files import fingerprint, write_json

STATE = "cell.json"
LOG_TAIL = 3
"""Lines of a failed run's log that are repeated in the message."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is compared. train_words: `--key value` settings for every run. evaluate_words: likewise."""

    recipe: Path
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    out: Path
    train_words: tuple[str, ...] = ()
    evaluate_words: tuple[str, ...] = ()
    program: tuple[str, ...] = (sys.executable, "-m", "scapo.cli")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One method with one seed. stages: name to command, in their order."""

    method: str
    seed: int
    folder: Path
    stages: dict[str, tuple[str, ...]]
    recipe_sha256: str


OnStage = Callable[[Cell, str, str], None]


@dataclass
class Outcome:
    """What became of a cell; `failed` names the stage that ended badly."""

    cell: Cell
    failed: str | None = None
    message: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


def make_cells(plan: Plan) -> list[Cell]:
    """Cells seed by seed, so that an unfinished comparison already holds whole pairs.

    Raises:
        ScapoError: where a cell's folder was made by another recipe or other settings.
    """
    digest = fingerprint(plan.recipe)
    cells = [_cell(plan, method, seed, digest) for seed in plan.seeds for method in plan.methods]
    for cell in cells:
        _check_same(cell, plan)
    return cells


def _cell(plan: Plan, method: str, seed: int, digest: str) -> Cell:
    folder = plan.out / method / f"seed-{seed}"
    train = ("train", str(plan.recipe), "--output", str(folder), "--resume", "--method.name", method)
    stages = {"train": (*plan.program, *train, "--trainer.seed", str(seed), *plan.train_words)}
    if plan.evaluate_words:
        evaluate = ("evaluate", str(folder / "model"), "--out", str(folder / "evaluate"))
        stages["evaluate"] = (*plan.program, *evaluate, *plan.evaluate_words)
    return Cell(method=method, seed=seed, folder=folder, stages=stages, recipe_sha256=digest)


def _check_same(cell: Cell, plan: Plan) -> None:
    state = read_state(cell)
    for stage, done in state.items():
        command = list(cell.stages.get(stage, done["command"]))
        if done["recipe_sha256"] != cell.recipe_sha256 or done["command"][1:] != command[1:]:
            raise ScapoError(
                f"{cell.folder} was made by another recipe or with other settings (stage {stage}: "
                f"`{' '.join(done['command'])}`). Choose another -o, or delete {plan.out} to start anew."
            )


def read_state(cell: Cell) -> dict[str, Any]:
    """Finished stages of a cell, `{stage: {command, recipe_sha256, seconds}}`."""
    path = cell.folder / STATE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


class Stopped(Exception):
    """The comparison was interrupted; the cell goes on another time."""


class Runner:
    """Runs stages as processes, and can stop them all."""

    def __init__(self, jobs: int, on_stage: OnStage) -> None:
        threads = str(max(1, (os.cpu_count() or 1) // jobs))
        self.env = {"OMP_NUM_THREADS": threads} | os.environ
        self.on_stage = on_stage
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Ask what runs to end (a training saves its checkpoint first), and start nothing more."""
        self._stopping.set()
        for process in list(self._running):
            process.terminate()

    def cell(self, cell: Cell) -> Outcome:
        """Run the stages of a cell that are not finished."""
        outcome, state = Outcome(cell), read_state(cell)
        for stage, command in cell.stages.items():
            if stage in state and _has_result(cell, stage):
                outcome.seconds[stage] = state[stage]["seconds"]
                self.on_stage(cell, stage, "skip")
                continue
            started = time.perf_counter()
            status = self._run(cell, stage)
            outcome.seconds[stage] = time.perf_counter() - started
            if status or not _has_result(cell, stage):
                outcome.failed, outcome.message = stage, _why(cell, stage, status)
                self.on_stage(cell, stage, "failed")
                break
            done = {"recipe_sha256": cell.recipe_sha256, "seconds": outcome.seconds[stage]}
            state[stage] = {"command": list(command)} | done
            write_json(cell.folder / STATE, state)
            self.on_stage(cell, stage, "done")
        return outcome

    def _run(self, cell: Cell, stage: str) -> int:
        """Run one command with its output appended to the stage's log; its exit status."""
        self._check()
        self.on_stage(cell, stage, "start")
        cell.folder.mkdir(parents=True, exist_ok=True)
        command = cell.stages[stage]
        with (cell.folder / f"{stage}.log").open("ab") as file:
            file.write(f"$ {shlex.join(command)}\n".encode())
            file.flush()
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=self.env)
            self._running.add(process)
            if self._stopping.is_set():  # stop() came between the check and the start
                process.terminate()
            try:
                status = process.wait()
            finally:
                self._running.discard(process)
        self._check()
        return status

    def _check(self) -> None:
        if self._stopping.is_set():
            raise Stopped


def run_grid(cells: Sequence[Cell], jobs: int = 1, on_stage: OnStage = lambda *_: None) -> list[Outcome]:
    """Run all cells, `jobs` at a time. `on_stage(cell, stage, state)`: "start", "skip", "done" or "failed".

    A failed cell does not stop the others. An interrupt stops all, and the next call goes on.
    """
    if jobs < 1:
        raise ScapoError(f"--jobs is {jobs}; it must be 1 or more.")
    runner = Runner(jobs, on_stage)
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(runner.cell, cell) for cell in cells]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runner.stop()
            raise


def _has_result(cell: Cell, stage: str) -> bool:
    """A training that was stopped early ends well, too, but leaves no model."""
    path = "model/config.json" if stage == "train" else "evaluate/results.json"
    return (cell.folder / path).is_file()


def _why(cell: Cell, stage: str, status: int) -> str:
    log = cell.folder / f"{stage}.log"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"exit status {status}; {log} ends: {' / '.join(lines[-LOG_TAIL:])}"
