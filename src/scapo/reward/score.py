"""Score completions against golds (first cut: the contract stays, the verifier grows)."""

import re
from collections.abc import Sequence
from typing import Any

from scapo.reward.outcome import Reason, Score

_INTEGER = re.compile(r"[+-]?\d+")


def score(completion: str, gold: str) -> Score:
    """Score one completion: the last box after the last `</think>` against the gold answer."""
    return score_batch([completion], [gold])[0]


def score_batch(completions: Sequence[str], golds: Sequence[str]) -> list[Score]:
    """Exactly one score per completion, in order."""
    return [_judge(completion, gold) for completion, gold in zip(completions, golds, strict=True)]


def boxed_reward(completions: Sequence[Any], answer: Sequence[str], **kwargs: Any) -> list[float]:
    """TRL's reward-function signature; completions are texts or chat message lists."""
    return [s.value for s in score_batch([_text(c) for c in completions], answer)]


def _text(completion: Any) -> str:
    return completion if isinstance(completion, str) else str(completion[-1].get("content") or "")


def _judge(completion: str, gold: str) -> Score:
    boxes = re.findall(r"\\boxed\{([^{}]*)\}", completion.rpartition("</think>")[2])
    if not boxes:
        return Score(0.0, Reason.NO_BOX, None)
    found = boxes[-1].strip()
    if not _INTEGER.fullmatch(gold.strip()):
        right = found == gold.strip()
    else:
        right = bool(_INTEGER.fullmatch(found)) and int(found) == int(gold)
    return Score(float(right), Reason.CORRECT if right else Reason.WRONG, found)
