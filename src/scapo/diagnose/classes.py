"""The eight token classes of the paper's table 4: mutually exclusive, the first match in this order."""

import re
import unicodedata
from enum import StrEnum

from scapo.diagnose.lexicon import CONNECTIVES, REFLECTION


class TokenClass(StrEnum):
    """What a token is, judged by its text alone."""

    REFLECTION = "reflection"
    CONNECTIVE = "connective"
    MATH_SYMBOL = "math symbol"
    NUMBER = "number"
    WORD = "word"
    PUNCTUATION = "punctuation"
    WHITESPACE = "whitespace"
    OTHER = "other"


MATH_CHARACTERS = frozenset("\\=+-*/^_{}()[]<>|~&$%°′″")
"""Beside these, every character of Unicode category Sm (sums, arrows, relations) counts. Our choice: the
paper names only the first ones. Brackets are here because in solutions they mostly hold formulas."""

_NUMBER = re.compile(r"[+\-−]?(?:\d{1,3}(?:,\d{3})+|\d*)(?:\.\d*)?%?")  # and a digit somewhere
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def token_class(text: str, *, control: bool = False) -> TokenClass:
    """Class of a token by its decoded text.

    `control` marks tokens such as an end of turn, whatever they look like. Broken UTF-8 (part of a character)
    is decoded as U+FFFD. Both are `other`, before any other rule.
    """
    bare = text.strip()
    if control or not text or REPLACEMENT in text:
        return TokenClass.OTHER
    if not bare:
        return TokenClass.WHITESPACE
    return _lexical(bare) or _by_characters(bare)


def _lexical(bare: str) -> TokenClass | None:
    word = strip_punctuation(bare).lower()
    if word in REFLECTION:
        return TokenClass.REFLECTION
    return TokenClass.CONNECTIVE if word in CONNECTIVES else None


def _by_characters(bare: str) -> TokenClass:
    if bare[0] == "\\" or all(map(_is_math, bare)):
        return TokenClass.MATH_SYMBOL
    if any(map(str.isdecimal, bare)) and _NUMBER.fullmatch(bare):
        return TokenClass.NUMBER
    if any(unicodedata.category(character)[0] == "L" for character in bare):
        return TokenClass.WORD
    if all(_is_punctuation(character) or character.isspace() for character in bare):
        return TokenClass.PUNCTUATION
    return TokenClass.OTHER


def strip_punctuation(text: str) -> str:
    """`text` without white space and Unicode punctuation at its edges."""
    start, stop = 0, len(text)
    while start < stop and _is_edge(text[start]):
        start += 1
    while stop > start and _is_edge(text[stop - 1]):
        stop -= 1
    return text[start:stop]


def _is_edge(character: str) -> bool:
    return character.isspace() or _is_punctuation(character)


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] == "P"


def _is_math(character: str) -> bool:
    return character in MATH_CHARACTERS or unicodedata.category(character) == "Sm"
