"""Check data and prompt against the reward before anything is trained or paid for."""

import re
from collections.abc import Sequence

from scapo.errors import ScapoError
from scapo.reward.gold import read_gold
from scapo.reward.outcome import Reason
from scapo.reward.score import score, score_batch

_PROBE = "7"
_ANSWER_LINE = re.compile(r"(?i)answer:")
_OTHER_VALUE = r"\frac{355}{113}\xi_{0}"  # surely not the gold, and only algebra can tell


def gold_problems(answers: Sequence[str]) -> list[str | None]:
    """For each gold: why it, put in a box, wouldn't be scored right against itself; None where it would.

    Fits `load_problems(..., check=gold_problems)`.
    """
    distinct = list(dict.fromkeys(answers))
    scores = score_batch([f"\\boxed{{{read_gold(answer).text}}}" for answer in distinct], distinct)
    reasons = {
        answer: None if verdict.value == 1.0 else _sentence(answer, verdict.reason)
        for answer, verdict in zip(distinct, scores, strict=True)
    }
    return [reasons[answer] for answer in answers]


def only_as_written(answers: Sequence[str]) -> list[bool]:
    """For each gold: whether the algebra can't read it, so that only the same spelling would score right."""
    distinct = list(dict.fromkeys(answers))
    scores = score_batch([f"\\boxed{{{_OTHER_VALUE}}}"] * len(distinct), distinct)
    unread = {a for a, s in zip(distinct, scores, strict=True) if s.reason is Reason.GOLD_UNPARSEABLE}
    return [answer in unread for answer in answers]


def check_prompt(prompt: str) -> None:
    """Check that a model which answers as the prompt asks can be scored right.

    Raises:
        ScapoError: when the prompt asks for another form than the box that the reward reads.
    """
    if score(_obedient_completion(prompt), _PROBE).value != 1.0:
        raise ScapoError(
            "The prompt doesn't ask for the answer in \\boxed{}, which is what the reward reads: every "
            f"completion would score 0. It ends in: {prompt[-160:]!r}. Use scapo.problems.chat_prompt."
        )


def _obedient_completion(prompt: str) -> str:
    r"""What a model writes that follows the prompt's last instruction on the form of the answer."""
    boxes = [match.end() for match in re.finditer(r"\\(?:boxed|fbox)", prompt)]
    lines = [match.end() for match in _ANSWER_LINE.finditer(prompt)]
    if boxes and boxes[-1] > max(lines, default=-1):
        return f"\\boxed{{{_PROBE}}}"
    return f"Answer: {_PROBE}"


def _sentence(answer: str, reason: Reason) -> str:
    if reason is Reason.GOLD_UNPARSEABLE and (problem := read_gold(answer).problem):
        return problem
    return f"The gold {answer!r} in a box isn't scored right against itself ({reason})."
