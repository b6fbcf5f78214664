"""The worker process: reads one JSON pair a line, answers with one reason a line.

Limits are the kernel's, so no input can dodge them, and they count this process's own CPU time, so a busy
machine can't turn a right answer into a timeout. A worker over its limit is killed by the timer and replaced.
"""

import contextlib
import json
import os
import resource
import signal
import sys
from typing import BinaryIO

CPU_SECONDS = 3.0
"""Per item. Real answers take some hundredths of a second, the slowest pair seen took 0.7."""
MEMORY_BYTES = 2 << 30
READY = b"ready\n"
_RECURSION_LIMIT = 5000  # the LaTeX parser recurses about 15 frames per bracket


def main() -> None:
    """Serve until the parent closes our input (or dies, which closes it too)."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever a library prints must not end up among the answers
    _set_limits()
    from scapo.reward.judge import judge

    judge(
        r"\frac{x}{2}+1", r"1+\frac{1}{2}x"
    )  # builds the parser's tables before the first item's time counts
    answers.write(READY)
    serve(sys.stdin.buffer, answers)


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer line by line; the CPU timer runs only while an item is judged."""
    from scapo.reward.judge import judge

    for line in questions:
        gold, box = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        reason = judge(gold, box)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(reason.value.encode() + b"\n")


def _set_limits() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the timer ends the process
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MEMORY_BYTES, most)
    with contextlib.suppress(ValueError, OSError):  # macOS doesn't limit address space
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    sys.setrecursionlimit(_RECURSION_LIMIT)
