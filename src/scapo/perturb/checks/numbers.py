"""Are the numbers of a rewrite those of the original? Digits and number words count as the same number.

Strict in general: a value may not be lost, and a new value may not come in. Let through, as good rewrites do
it: a value said again; one of several mentions left out when the same value with the same noun is still
there; 'one' for 'a'; 'both' for 'the two'; 'initial' for 'first' and 'following' for 'second'.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.lexicon import words
from scapo.perturb.spans import Span, SpanKind, spans
from scapo.perturb.values import Value

_FIRST = words("initial initially beginning start original originally firstly starting")
_LATER = words("following next subsequent subsequently latter")
_POINTING = re.compile(
    r"\b(?:the|these|those|all|other|both|last|final|remaining|its|their|between)(?: other| remaining)?\s$",
    re.IGNORECASE,
)
_OTHER = words("other another")
_DOLLARS = re.compile(
    r"\s(?:(?:more|fewer|less|extra|additional)\s|of a\s|a\s)?(?:dollar|buck)s?\b", re.IGNORECASE
)
_LODGING = re.compile(r"\b(?:sleeping|living|private|crew)\squarters$", re.IGNORECASE)
_PERCENT = re.compile(r"\s?\\?(?:%|percent)")
_UNITS = words(
    "hour minute second day week month year mile meter kilometer foot inch yard pound ounce gram kilogram "
    "liter gallon cup quart pint cent degree"
)
_ONE_OF = r"\b(?:a|an|one|per|each|every|single|another)\s+(?:full\s+|single\s+)?"

_CHINESE = re.compile("[二三四五六七八九十百千万两半倍]")


class Mention(NamedTuple):
    """One number of a text, the word after it, and whether it only points back ('the two sisters').

    `unit` is '$', '%' or a unit of measure beside it, else empty.
    """

    value: Value
    noun: str
    unit: str
    digits: bool
    pointing: bool


@lru_cache(maxsize=64)
def mentions(text: str) -> tuple[Mention, ...]:
    """All numbers outside math, in order."""
    found = spans(text)
    made = []
    for at, span in enumerate(found):
        if span.value is None or _LODGING.search(text[max(0, span.start - 10) : span.end]):
            continue
        following = found[at + 1] if at + 1 < len(found) else None
        near = following and following.kind is SpanKind.WORD and following.start - span.end <= 2
        noun = stem(following.text) if following and near else ""
        pointing = _POINTING.search(text[max(0, span.start - 20) : span.start]) is not None
        digits = span.kind is SpanKind.NUMBER
        made.append(Mention(span.value, noun, _unit(text, span, noun), digits, pointing and not digits))
    return tuple(made)


def _unit(text: str, span: Span, noun: str) -> str:
    if text[max(0, span.start - 1) : span.start] == "$" or _DOLLARS.match(text, span.end):
        return "$"
    if _PERCENT.match(text, span.end):
        return "%"
    return noun if noun in _UNITS else ""


def unit_refusal(original: str, text: str) -> Refusal | None:
    """Refuses '$700' for '700%', '5 miles' for '5 hours': a value that lost its unit to another one."""
    old, new = _units(original), _units(text)
    for value in old.keys() & new.keys():
        before, after = old[value] - {""}, new[value] - {""}
        signs_lost = bool(before & {"$", "%"}) != bool(after & {"$", "%"})
        if (before and after and not before & after) or signs_lost:
            names = " and ".join(sorted(before | after))
            return Refusal("unit_changed", f"The number {_show(value)} changed its unit ({names}).")
    return None


def _units(text: str) -> dict[Value, set[str]]:
    units: dict[Value, set[str]] = {}
    for mention in mentions(text):
        units.setdefault(mention.value, set()).add(mention.unit)
    return units


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A word without plural s, in small letters: enough to compare units and nouns."""
    low = word.lower().removesuffix("'s").removesuffix("’s")
    return {"feet": "foot", "people": "person", "children": "child"}.get(low, low.rstrip("s") or low)


def number_refusal(original: str, text: str) -> Refusal | None:
    """Refuses lost and new values, unless the difference is one of those that good rewrites have."""
    if sorted(_CHINESE.findall(original)) != sorted(_CHINESE.findall(text)):
        return Refusal("number_lost", "The Chinese numerals are not those of the original.")
    old, new = mentions(original), mentions(text)
    old_count, new_count = Counter(m.value for m in old), Counter(m.value for m in new)
    for value in old_count - new_count:
        if not _may_go(value, old, new, original, text):
            return Refusal("number_lost", f"The number {_show(value)} is missing, or said once less.")
    for value in new_count - old_count:
        if value not in old_count and not _may_come(value, old, new, original, text):
            return Refusal("new_number", f"The number {_show(value)} is not in the original.")
    return None


def _may_go(value: Value, old: Iterable[Mention], new: Iterable[Mention], original: str, text: str) -> bool:
    if isinstance(value, str):
        return _order_word_instead(value, text)
    before, after = [m for m in old if m.value == value], [m for m in new if m.value == value]
    if value == 1 and sum(m.digits for m in before) <= sum(m.digits for m in after):
        return True  # only the word was lost, which may be an article
    if value == 1 and all(_one_kept(m.noun, text) for m in before if m.digits):
        return True
    if value == 2 and _count(text, {"both"}) > _count(original, {"both"}):
        return True
    nouns = {m.noun for m in after if m.noun}
    kept = [m for m in before if not m.pointing]
    return bool(after) and (len(kept) <= len(after) or all(m.noun in nouns or not m.noun for m in kept))


def _may_come(value: Value, old: Iterable[Mention], new: Iterable[Mention], original: str, text: str) -> bool:
    if isinstance(value, str):
        another = value in ("ordinal 2", "ordinal 3") and _count(original, _OTHER) > 0
        return another or _order_word_instead(value, original)
    fresh = [m for m in new if m.value == value]
    if any(m.digits for m in fresh):
        return value == 1 and all(_one_kept(m.noun, original) for m in fresh)
    if value == 2 and _count(original, {"both"}):
        return True
    return value == 1 or all(m.pointing for m in fresh)


def _one_kept(noun: str, text: str) -> bool:
    """True when 'a cup', 'one cup' or 'per cup' stands for '1 cup'."""
    return bool(noun) and re.search(_ONE_OF + re.escape(noun[:12]), text, re.IGNORECASE) is not None


def _order_word_instead(value: str, within: str) -> bool:
    """True when an ordinal that `within` lacks may be said there with a word of order."""
    if not value.startswith("ordinal"):
        return False
    order = _FIRST if value == "ordinal 1" else _LATER
    return _count(within, order) > 0


def _count(text: str, wanted: Collection[str]) -> int:
    return sum(word in wanted for word in re.findall(r"[a-z]+", text.lower()))


def _show(value: Value) -> str:
    return str(value) if isinstance(value, Fraction) else value
