"""Did two numbers (or two formulas) change places? Each must keep the company it had in the original."""

import re
from fractions import Fraction
from itertools import combinations

from scapo.perturb.checks.numbers import stem
from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.spans import SpanKind, spans

WINDOW = 6
MAX_ITEMS = 40
MARGIN = 1e-6  # for rounding only: on real rewrites no larger one was needed
_SPACE = re.compile(r"\s+")

Company = dict[str, float]
"""Nearby words with their closeness: 1 for a neighbour, 1/2 for the next but one, ..."""


def exchange_refusal(original: str, text: str) -> Refusal | None:
    """Refuses two items whose order is turned round and whose words fit better to each other's place.

    Only items that stand once in both texts are looked at, as others can't be told apart; unless the words
    around them are the very same.
    """
    if _skeleton(original) == _skeleton(text) and _items(original) != _items(text):
        return Refusal("numbers_exchanged", "The words are the same, but the numbers stand in another order.")
    old_place, new_place = _places(original), _places(text)
    shared = [item for item in old_place if item in new_place][:MAX_ITEMS]
    turned = [(a, b) for a, b in combinations(shared, 2) if new_place[a] > new_place[b]]
    if not turned:
        return None
    old, new = _companies(original, old_place), _companies(text, new_place)
    for a, b in turned:
        own = _alike(old[a], new[a]) + _alike(old[b], new[b])
        other = _alike(old[a], new[b]) + _alike(old[b], new[a])
        if other > own + MARGIN:
            return Refusal("numbers_exchanged", f"{a} and {b} seem to have changed places.")
    return None


def _skeleton(text: str) -> list[str]:
    return [span.text.lower() if span.kind is SpanKind.WORD else "#" for span in spans(text)]


def _items(text: str) -> list[str]:
    return [_name(str(span.value or span.text)) for span in spans(text) if span.kind is not SpanKind.WORD]


def _places(text: str) -> dict[str, int]:
    """Which span each number value and formula is that stands once in the text, in order."""
    places: dict[str, int] = {}
    twice = set()
    for at, span in enumerate(spans(text)):
        if span.kind is SpanKind.MATH or isinstance(span.value, Fraction):
            name = _name(span.text if span.kind is SpanKind.MATH else str(span.value))
            if name in places:
                twice.add(name)
            places.setdefault(name, at)
    return {name: at for name, at in places.items() if name not in twice}


def _companies(text: str, places: dict[str, int]) -> dict[str, Company]:
    words = [stem(span.text) if span.kind is SpanKind.WORD else "" for span in spans(text)]
    return {name: _company(words, at) for name, at in places.items()}


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
