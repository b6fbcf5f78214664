"""Judge what text alone can't decide. Runs in a worker process, where a hang or a crash hurts nobody."""

from math_verify.errors import TimeoutException

from scapo.reward import structure
from scapo.reward.algebra import Unreadable
from scapo.reward.outcome import Reason


def judge(gold: str, box: str) -> Reason:
    """Compare two normalised answers; every failure is a reason."""
    try:
        return Reason.CORRECT if structure.equal(gold, box) else Reason.WRONG
    except Unreadable as unreadable:
        return unreadable.reason
    except (MemoryError, TimeoutException):  # TimeoutException is a BaseException
        return Reason.TIMEOUT
    except Exception:  # parser and algebra raise many types on odd input: no verdict means no reward
        return Reason.UNPARSEABLE
