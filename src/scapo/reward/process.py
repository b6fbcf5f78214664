"""The parent's handle on one worker process.

Workers are started as fresh interpreters that import only the verifier. multiprocessing's start methods don't
fit: fork is unsafe beside torch's threads; spawn and forkserver run the user's script again in every worker.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO

from scapo.errors import ScapoError
from scapo.reward.outcome import Reason
from scapo.reward.worker import READY

WALL_SECONDS = 300.0
"""A net below the worker's own CPU limit, for one that hangs without computing; from the item's own start."""
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from scapo.reward.worker import main; main()"
)


class WorkerDied(Exception):
    """A worker ended or hung before it answered; `over_limit` when it used up its own time."""

    def __init__(self, over_limit: bool) -> None:
        super().__init__("over its limit" if over_limit else "ended")
        self.over_limit = over_limit


class WorkerProcess:
    """One worker process, used by one thread at a time."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile() as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for the parent; workers end when their input closes
                env={
                    **os.environ,
                    "PYTHONHASHSEED": "0",
                },  # algebra orders terms by hash: one order everywhere
            )
            assert self._process.stdin
            assert self._process.stdout
            self._questions, self._answers = self._process.stdin, self._process.stdout
            self._await_ready(errors)

    def ask(self, gold: str, box: str) -> Reason:
        """The reason for one pair of normalised answers. Raises WorkerDied."""
        try:
            self._questions.write(json.dumps([gold, box]).encode() + b"\n")
        except OSError as error:
            raise WorkerDied(over_limit=False) from error
        return Reason(self._line().decode().strip())

    def close(self) -> None:
        """End the process: it stops by itself when its input closes, else it is killed."""
        self._questions.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self.kill()

    def kill(self) -> None:
        """Kill the process at once and free its pipes."""
        self._process.kill()
        self._process.wait()
        self._questions.close()
        self._answers.close()

    def _line(self) -> bytes:
        poll, end, line = select.poll(), time.monotonic() + WALL_SECONDS, b""
        poll.register(self._answers, select.POLLIN)
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise WorkerDied(over_limit=True)
            if not (chunk := self._answers.read(4096)):
                raise WorkerDied(over_limit=self._exit_status() == -signal.SIGPROF)
            line += chunk
        return line

    def _exit_status(self) -> int | None:
        try:
            return self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return None

    def _await_ready(self, errors: IO[bytes]) -> None:
        try:
            if self._line() == READY:
                return
        except WorkerDied:
            pass
        self.kill()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().rpartition("\n")[2] or "it said nothing"
        raise ScapoError(
            f"The answer checker's worker process did not start ({said}). Is math-verify installed?"
        )
