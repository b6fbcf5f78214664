"""Multiple choice: option order as a pure function of question and sample; the letter from the box only."""

import hashlib
import re
from collections.abc import Sequence
from itertools import permutations

from scapo.reward import Reason, Score
from scapo.reward.extract import last_box

LETTERS = "ABCD"
ORDERS = list(permutations(range(4)))  # 24; samples 0..23 of a question see each order once
_WRAPPER = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf|rm|bf)\s*\{([^{}]*)\}")
_LETTER = re.compile(r"\(?\s*([A-Da-d])\s*\)?\s*(?:[.:)].*)?", re.DOTALL)


def options(problem: str, right: str, wrong: Sequence[str], sample: int) -> list[str]:
    """The four options in this sample's order; the question's hash sets where the cycle of orders starts."""
    start = int.from_bytes(hashlib.sha256(problem.encode()).digest()[:4], "big")
    texts = [right, *wrong]
    return [texts[place] for place in ORDERS[(start + sample) % len(ORDERS)]]


def question_text(problem: str, right: str, wrong: Sequence[str], sample: int) -> str:
    """The question with its lettered options."""
    lines = [
        f"({letter}) {text}"
        for letter, text in zip(LETTERS, options(problem, right, wrong, sample), strict=True)
    ]
    return problem.strip() + "\n\n" + "\n".join(lines) + "\n\nAnswer with the letter of the right option."


def gold_letter(problem: str, right: str, wrong: Sequence[str], sample: int) -> str:
    return LETTERS[options(problem, right, wrong, sample).index(right)]


def grade_choice(completion: str, gold: str) -> Score:
    """The letter in the last box against the gold letter; letters in the prose count for nothing."""
    box = last_box(completion)
    if box is None:
        return Score(0.0, Reason.NO_BOX, None)
    letter = boxed_letter(box)
    if letter is None:
        return Score(0.0, Reason.UNPARSEABLE, box)
    right = letter == gold
    return Score(float(right), Reason.CORRECT if right else Reason.WRONG, letter)


def boxed_letter(box: str) -> str | None:
    """A, B, C or D from `B`, `(B)`, `\\text{B}`, `B. 5 m/s`; None for anything else."""
    text = _WRAPPER.sub(r"\1", box).replace("$", "").strip()
    found = _LETTER.fullmatch(text)
    return found[1].upper() if found else None
