"""The reward: score completions against gold answers."""

import re
from collections.abc import Sequence
from typing import Any

from scapo.reward.extract import last_box
from scapo.reward.gold import read_gold
from scapo.reward.literal import decide
from scapo.reward.outcome import Reason, Score
from scapo.reward.pool import shared_pool
from scapo.reward.text import normalise

MAX_BOX_LENGTH = 2000
"""Characters; longer boxes aren't parsed."""
_PLAIN_INTEGER = re.compile(r"-?[0-9]{1,18}")


def score(completion: str, gold: str) -> Score:
    """Score one completion: 1 where the last box after the last `</think>` states the gold, else 0."""
    return score_batch([completion], [gold])[0]


def score_batch(completions: Sequence[str], golds: Sequence[str]) -> list[Score]:
    """Exactly one score per completion, in order; the same on any thread and under any load.

    Numbers, letters and words are decided here; what needs algebra goes to the shared worker processes.
    """
    if len(completions) != len(golds):
        raise ValueError(
            f"There are {len(completions)} completions but {len(golds)} golds; each needs its own."
        )
    boxes = [last_box(_as_text(completion)) for completion in completions]
    golds = [_as_text(gold) for gold in golds]
    reasons = [_by_text(gold, box) for gold, box in zip(golds, boxes, strict=True)]
    hard = [at for at, reason in enumerate(reasons) if reason is None]
    pairs = {at: (read_gold(golds[at]).text, normalise(boxes[at] or "")) for at in hard}
    verdicts = _by_algebra(list(dict.fromkeys(pairs.values())))
    return [
        _score(verdicts[pairs[at]] if reason is None else reason, box)
        for at, (reason, box) in enumerate(zip(reasons, boxes, strict=True))
    ]


def boxed_reward(completions: Sequence[Any], answer: Sequence[str], **kwargs: Any) -> list[float]:
    """The reward with TRL's reward-function signature; completions are texts or chat message lists.

    Further columns are ignored. Where TRL passes its loggers, reasons and extracted answers reach its tables.
    """
    scores = score_batch([completion_text(completion) for completion in completions], answer)
    if log_extra := kwargs.get("log_extra"):
        log_extra("reason", [s.reason.value for s in scores])
        log_extra("extracted", [s.extracted or "" for s in scores])
    if (log_metric := kwargs.get("log_metric")) and scores:
        for reason in Reason:
            log_metric(f"reward/reason/{reason}", sum(s.reason is reason for s in scores) / len(scores))
    return [s.value for s in scores]


def completion_text(completion: Any) -> str:
    """A completion's text: itself, or its last assistant message (whose content may be a list of parts)."""
    if isinstance(completion, str):
        return completion
    answers = [message for message in completion or [] if message.get("role", "assistant") == "assistant"]
    content = answers[-1].get("content") if answers else None
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return _as_text(content)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _by_text(gold: str, box: str | None) -> Reason | None:
    """The reason where no algebra is needed, else None."""
    if box is not None and _PLAIN_INTEGER.fullmatch(gold) and _PLAIN_INTEGER.fullmatch(box.strip()):
        return Reason.CORRECT if int(gold) == int(box) else Reason.WRONG
    wanted = read_gold(gold)
    if wanted.problem:
        return Reason.GOLD_UNPARSEABLE
    if box is None:
        return Reason.NO_BOX
    if len(box) > MAX_BOX_LENGTH:
        return Reason.TOO_LONG
    found = normalise(box)
    return decide(wanted.text, found) if found else Reason.UNPARSEABLE


def _by_algebra(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], Reason]:
    return dict(zip(pairs, shared_pool().judge_all(pairs), strict=True)) if pairs else {}


def _score(reason: Reason, box: str | None) -> Score:
    return Score(
        float(reason is Reason.CORRECT), reason, box if box is None else box[:MAX_BOX_LENGTH].strip()
    )
