"""The workers of a process: started when first needed, shared by its threads, replaced when they die."""

import atexit
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from scapo.reward.outcome import Reason
from scapo.reward.process import WorkerDied, WorkerProcess

MAX_WORKERS = 4


class Pool:
    """At most `size` worker processes; callers on any thread wait for a free one.

    Waiting isn't counted against an item: its time runs in the worker, from the item's own start.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._free = threading.BoundedSemaphore(size)
        self._idle: list[WorkerProcess] = []  # append and pop are atomic

    def judge_all(self, pairs: Sequence[tuple[str, str]]) -> list[Reason]:
        """One reason per pair of normalised answers, in order."""
        if len(pairs) <= 1:
            return [self.judge(*pair) for pair in pairs]
        with ThreadPoolExecutor(min(self.size, len(pairs))) as threads:
            return list(threads.map(lambda pair: self.judge(*pair), pairs))

    def judge(self, gold: str, box: str) -> Reason:
        """The reason for one pair; a worker that dies without having used up its time gets one more try."""
        with self._free:
            for _ in range(2):
                try:
                    return self._ask(gold, box)
                except WorkerDied as died:
                    if died.over_limit:
                        break
        return Reason.TIMEOUT

    def close(self) -> None:
        """End all idle workers."""
        while self._idle:
            self._idle.pop().close()

    def _ask(self, gold: str, box: str) -> Reason:
        worker = self._idle.pop() if self._idle else WorkerProcess()
        try:
            reason = worker.ask(gold, box)
        except BaseException:  # also Ctrl-C: a worker with an answer on its way can't serve the next question
            worker.kill()
            raise
        self._idle.append(worker)
        return reason


_shared: Pool | None = None
_lock = threading.Lock()


def shared_pool() -> Pool:
    """This process's pool; a forked child gets its own."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = Pool(min(MAX_WORKERS, _usable_cores()))
        return _shared


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def close_shared_pool() -> None:
    """End this process's workers (done at exit too)."""
    global _shared
    with _lock:
        pool, _shared = _shared, None
    if pool:
        pool.close()


def _forget_after_fork() -> None:
    """In a forked child: the parent's workers and locks are the parent's."""
    global _shared, _lock
    _shared, _lock = None, threading.Lock()


atexit.register(close_shared_pool)
os.register_at_fork(after_in_child=_forget_after_fork)
