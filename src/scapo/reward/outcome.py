"""What scoring one completion yields: 0 or 1, always with a reason."""

from enum import StrEnum
from typing import NamedTuple


class Reason(StrEnum):
    """Why a completion got its score. Only `correct` scores 1."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_BOX = "no_box"
    UNPARSEABLE = "unparseable"
    TIMEOUT = "timeout"
    TOO_LONG = "too_long"
    GOLD_UNPARSEABLE = "gold_unparseable"


class Score(NamedTuple):
    """The reward of one completion: 0.0 or 1.0, the reason, and the text found in the box (if any)."""

    value: float
    reason: Reason
    extracted: str | None
