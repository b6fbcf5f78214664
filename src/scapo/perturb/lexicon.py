"""Word lists of the rules and the checks: plain text in rules/data, and wordfreq for how common a word is."""

import math
from functools import cache
from importlib import resources

ORDINARY_ZIPF = 3.3
"""An ordinary English word is at least this common (wordfreq's Zipf scale: here 2 in a million words)."""
ALLOWED_ZIPF = 2.5
"""The checks let other generators edit rarer words than the rules do."""
REAL_WORD_ZIPF = 3.0
"""A string at least this common counts as a real word, so that a typo must not make it ('form' -> 'from')."""


def words(text: str) -> frozenset[str]:
    """A set of words written as one string."""
    return frozenset(text.split())


@cache
def word_list(name: str) -> frozenset[str]:
    """The words of rules/data/<name>.txt: white-space separated, `#` starts a comment."""
    return frozenset(" ".join(line.partition("#")[0] for line in _text(name).splitlines()).split())


@cache
def lines(name: str) -> tuple[str, ...]:
    """The non-empty, non-comment lines of rules/data/<name>.txt."""
    return tuple(line for line in _text(name).splitlines() if line.strip() and not line.startswith("#"))


def _text(name: str) -> str:
    folder = resources.files("scapo.perturb").joinpath("rules", "data")
    return folder.joinpath(f"{name}.txt").read_text(encoding="utf-8")


@cache
def _frequencies() -> dict[str, float]:
    from wordfreq import get_frequency_dict

    return get_frequency_dict("en", wordlist="large")


def zipf(word: str) -> float:
    """How common a word is in English: log10 of its count in a billion words; 0 for an unknown string."""
    frequency = _frequencies().get(word.lower().replace("’", "'"), 0.0)
    return max(0.0, math.log10(frequency) + 9) if frequency else 0.0


@cache
def common_words(least: float) -> frozenset[str]:
    """All words with at least this Zipf frequency."""
    floor = 10 ** (least - 9)
    return frozenset(word for word, frequency in _frequencies().items() if frequency >= floor)


def is_protected(word: str) -> bool:
    """True for words that no typo may touch: mathematical keywords, units, negations, calendar."""
    return _listed(word, "protected")


def is_delicate(word: str) -> bool:
    """True for quantifiers and comparisons: the rules leave them alone, the paper's typos do not."""
    return _listed(word, "careful")


def _listed(word: str, name: str) -> bool:
    return any(form in word_list(name) for form in _forms(word.lower().replace("’", "'")))


def _forms(low: str) -> tuple[str, ...]:
    base = low.removesuffix("'s")
    return (low, base, base.removesuffix("s"), base.removesuffix("es"), base.removesuffix("ies") + "y")
