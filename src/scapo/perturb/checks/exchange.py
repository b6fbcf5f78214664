"""Did two numbers (or two formulas) change places? Each must keep the company it had in the original."""

import re
from collections import Counter
from fractions import Fraction
from itertools import combinations

from scapo.perturb.checks.numbers import stem
from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.spans import SpanKind, spans

WINDOW = 6
MAX_ITEMS = 40
MARGIN = 0.2
_SPACE = re.compile(r"\s+")

Company = dict[str, float]
"""Nearby words with their closeness: 1 for a neighbour, 1/2 for the next but one, ..."""


def exchange_refusal(original: str, text: str) -> Refusal | None:
    """Refuses two items whose order is turned round and whose words fit better to each other's place.

    Only items that stand once in both texts are looked at: others can't be told apart.
    """
    old, new = _companies(original), _companies(text)
    shared = [item for item in old if item in new][:MAX_ITEMS]
    place = {item: at for at, item in enumerate(new)}
    for a, b in combinations(shared, 2):
        if place[a] > place[b]:
            own = _alike(old[a], new[a]) + _alike(old[b], new[b])
            other = _alike(old[a], new[b]) + _alike(old[b], new[a])
            if other > own + MARGIN:
                return Refusal("numbers_exchanged", f"{a} and {b} seem to have changed places.")
    return None


def _companies(text: str) -> dict[str, Company]:
    """The company of each number value and formula that stands once in the text, in order."""
    found = spans(text)
    names = [
        _name(str(span.value))
        if isinstance(span.value, Fraction)
        else _name(span.text)
        if span.kind is SpanKind.MATH
        else ""
        for span in found
    ]
    words = [stem(span.text) if span.kind is SpanKind.WORD else "" for span in found]
    count = Counter(names)
    return {name: _company(words, at) for at, name in enumerate(names) if name and count[name] == 1}


def _name(text: str) -> str:
    return _SPACE.sub(" ", text)[:60]


def _company(words: list[str], at: int) -> Company:
    near: Company = {}
    for distance in range(1, WINDOW + 1):
        for place in (at - distance, at + distance):
            if 0 <= place < len(words) and words[place]:
                near.setdefault(words[place], 1 / distance)
    return near


def _alike(a: Company, b: Company) -> float:
    return sum(min(weight, b[word]) for word, weight in a.items() if word in b)
