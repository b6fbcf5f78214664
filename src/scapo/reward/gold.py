"""Gold answers: what is to be compared, or why a gold can't be used."""

import re
from functools import lru_cache
from typing import NamedTuple

from scapo.reward.extract import last_box
from scapo.reward.number import as_number
from scapo.reward.text import balanced, has_control_characters, normalise

MAX_GOLD_LENGTH = 300
"""Characters; real final answers have at most about 210, worked solutions have more."""

_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}(?:[ ,.;:]+[A-Za-z]{2,})+")
_TEXT = re.compile(r"\\(?:text|mathrm) ?\{[^{}]*\}")
_CONNECTIVES = re.compile(r"(?<![A-Za-z])(?:and|or)(?![A-Za-z])", re.IGNORECASE)


class Gold(NamedTuple):
    """A gold answer, normalised; `problem` says in a sentence why it can't be verified (None: it can)."""

    text: str
    problem: str | None


@lru_cache(maxsize=65536)
def read_gold(answer: str) -> Gold:
    """The comparable answer of a gold text; a short text around a box counts as the box."""
    if len(answer) > MAX_GOLD_LENGTH:
        return Gold(
            "", f"The gold has {len(answer)} characters; it looks like a solution, not like a final answer."
        )
    text = normalise(boxed if (boxed := last_box(answer)) is not None else answer)
    return Gold(text, _problem(answer, text))


def _problem(answer: str, text: str) -> str | None:
    if not text:
        return "The gold is empty."
    if has_control_characters(answer):
        return (
            "The gold holds a control character: its LaTeX was damaged (as \\f of \\frac read as form feed)."
        )
    if not balanced(text):
        return "The gold's braces don't match; it was probably cut off."
    if as_number(text) is None and _PROSE.search(_CONNECTIVES.sub(",", _TEXT.sub("", text))):
        return "The gold is a phrase, not an expression (a text answer belongs into \\text{...})."
    return None
