"""The workers: killed when they hang, replaced, safe beside threads and forks, never at the mercy of a busy machine."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from scapo.errors import ScapoError
from scapo.reward import Reason, pool, process, score, score_batch, worker
from scapo.reward.pool import Pool, shared_pool
from scapo.reward.process import WorkerDied, WorkerProcess

EASY = (r"\frac{x}{2}", r"\frac{2x}{4}")
HANG = (r"\frac{x}{2}", r"\binom{3000000000}{1500000000}")  # the parser itself computes it, for hours
RIGHT = (1.0, Reason.CORRECT)
LIMIT = 1.0  # CPU seconds, instead of 3


@pytest.fixture
def own_pool(monkeypatch):
    boot = process._BOOT.replace(
        "main()", f"import scapo.reward.worker as w; w.CPU_SECONDS = {LIMIT}; main()"
    )
    monkeypatch.setattr(process, "_BOOT", boot)
    made = Pool(2)
    yield made
    made.close()


def test_hanging_items_are_killed_and_the_pool_still_serves(own_pool):
    reasons = own_pool.judge_all([HANG] * 4 + [EASY] * 10)
    assert reasons == [Reason.TIMEOUT] * 4 + [Reason.CORRECT] * 10


def test_a_hang_costs_its_own_cpu_limit_and_not_more(own_pool):
    before = resource_children()
    assert own_pool.judge(*HANG) is Reason.TIMEOUT
    assert resource_children() - before < LIMIT + 3  # 3: starting a worker


def test_a_hang_is_over_in_ten_seconds_on_a_free_machine():
    assert worker.CPU_SECONDS < 5


def resource_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def test_a_worker_killed_from_outside_costs_no_score(own_pool):
    assert own_pool.judge(*EASY) is Reason.CORRECT
    os.kill(own_pool._idle[0]._process.pid, signal.SIGKILL)
    assert own_pool.judge(*EASY) is Reason.CORRECT


def test_waiting_for_a_worker_is_not_counted(own_pool):
    """A queue that takes far longer than an item may: every item's time starts when its own work does."""
    own_pool.size = 1
    own_pool._free.acquire()
    assert own_pool.judge_all([HANG] * 3 + [EASY] * 3)[-3:] == [Reason.CORRECT] * 3


def test_a_worker_that_hangs_without_computing_is_killed(monkeypatch, own_pool):
    own_pool.judge(*EASY)
    os.kill(own_pool._idle[0]._process.pid, signal.SIGSTOP)
    monkeypatch.setattr(process, "WALL_SECONDS", 0.5)
    assert own_pool.judge(*EASY) is Reason.TIMEOUT
    assert not own_pool._idle


def test_the_verifiers_timeout_which_is_a_base_exception_is_a_reason(monkeypatch):
    from math_verify.errors import TimeoutException

    from scapo.reward import judge, structure

    def raises(*_):
        raise TimeoutException

    monkeypatch.setattr(structure, "equal", raises)
    assert judge.judge("1", "2") is Reason.TIMEOUT


def test_ctrl_c_passes_and_the_worker_is_not_reused(own_pool, monkeypatch):
    own_pool.judge(*EASY)
    monkeypatch.setattr(WorkerProcess, "_line", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        own_pool.judge(*EASY)
    assert not own_pool._idle


def test_a_worker_that_cannot_start_says_why(monkeypatch):
    monkeypatch.setattr(process, "_BOOT", "raise SystemExit('no such module')")
    with pytest.raises(ScapoError, match="no such module"):
        WorkerProcess()


def test_printing_in_a_worker_does_not_disturb_its_answers(own_pool, monkeypatch):
    noise = "import scapo.reward.judge as j; judge = j.judge; "
    noise += "j.judge = lambda g, b: (print('noise', flush=True), judge(g, b))[1]; main()"
    monkeypatch.setattr(process, "_BOOT", process._BOOT.replace("main()", noise))
    assert own_pool.judge_all([EASY] * 3) == [Reason.CORRECT] * 3


def test_memory_bombs_end_as_a_reason(own_pool):
    assert own_pool.judge("x", r"\{1,2\}^{99999999999}" + "x" * 50) in set(Reason) - {Reason.CORRECT}


def test_a_forked_child_has_its_own_pool():
    assert score(rf"\boxed{{{EASY[1]}}}", EASY[0])[:2] == RIGHT
    parents = shared_pool()
    queue = multiprocessing.get_context("fork").SimpleQueue()
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(queue, id(parents)))
    child.start()
    assert queue.get() == (RIGHT, True)
    child.join()
    assert score(rf"\boxed{{{EASY[1]}}}", EASY[0])[:2] == RIGHT
    assert shared_pool() is parents


def _in_child(queue, parents_pool):
    queue.put((tuple(score(rf"\boxed{{{EASY[1]}}}", EASY[0])[:2]), id(shared_pool()) != parents_pool))
    pool.close_shared_pool()


SCRIPT = """
    import sys, threading
    print("top level", flush=True)
    from scapo.reward import score
    results = []
    thread = threading.Thread(target=lambda: results.append(score(r"\\boxed{\\frac{2x}{4}}", r"\\frac{x}{2}")))
    thread.start(); thread.join()
    print(results[0].value, [name for name in ("torch", "sympy") if name in sys.modules], flush=True)
"""


def test_a_script_without_main_guard_runs_once_and_leaves_nothing(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.stdout.split("\n")[:2] == ["top level", "1.0 []"], done.stderr
    assert done.returncode == 0


def test_workers_end_when_their_process_is_killed(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent("""
        import time
        from scapo.reward.pool import shared_pool
        shared_pool().judge("x+1", "1+x+0")
        print(shared_pool()._idle[0]._process.pid, flush=True)
        time.sleep(600)
    """)
    )
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 60
    while time.monotonic() < end and _alive(child):
        time.sleep(0.1)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_died_workers_tell_whether_it_was_their_own_limit(own_pool):
    own_pool.judge(*EASY)
    one = own_pool._idle[0]
    with pytest.raises(WorkerDied) as died:
        one.ask(*HANG)
    assert died.value.over_limit


@pytest.mark.slow
def test_twelve_busy_processes_on_the_same_cores_change_no_score(shared_golds):
    sample = [gold for gold in shared_golds if len(gold) < 60][::9]
    completions = [rf"\boxed{{{gold}+0}}" for gold in sample]  # differs as text, so algebra must be asked
    alone = score_batch(completions, sample)
    context = multiprocessing.get_context("spawn")
    with context.Pool(12) as processes:
        loaded = processes.starmap(score_batch, [(completions, sample)] * 12)
    assert all(scores == alone for scores in loaded)
    assert sum(s.value for s in alone) > 0.5 * len(sample)
