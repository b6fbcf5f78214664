"""`counterfactual`: one quantity of the text is another one, so that the answer very likely changes.

Policy: numbers in digits outside math come first, then numbers inside math, then number words. Left alone
everywhere: 0 and 1, four digits that look like a year, ordinals, numbers that only name something ('day 3',
'base 10'), exponents and indices, lists of numbers, list marks, clock times, decimals, and all of an example
('For example, ...'). The new value is near the old one, above 1, and no other such number of the text; round
numbers stay round (1500 -> 1800).
"""

import random
import re
from collections.abc import Iterable
from typing import NamedTuple

from scapo.perturb.spans import Span, SpanKind, spans

_NAMING = re.compile(
    r"(?:day|box|base|page|step|figure|case|part|grade|level|room|number|no\.|chapter|table|round|size|modulo|mod|"
    r"year|january|february|march|april|may|june|july|august|september|october|november|"
    r"december)\s*\$?$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_IN_MATH = re.compile(r"(?<![\w^_\\\[])(?<![_^] )(?<!\d[.,])\d{1,4}(?![\d\]]|[.,]\d)")
_SCRIPT = re.compile(r"[_^]\s?\{[^{}]*\}|\\(?:begin|end|hspace|vspace)\{[^{}]*\}")
_EXAMPLE = re.compile(r"\b(?:for example|for instance|e\.g\.|note that|assume)\b[^.?!]*", re.IGNORECASE)
_LIST = re.compile(r"(?<![\d.])\d[\d.]{0,12}(?:, (?:and |or )?\d[\d.]{0,12}){2,}")
_NO_COUNT = re.compile(r"\b(?:no|any|every|these|those|the|other|all|each)\s+$", re.IGNORECASE)
_DIGITS = re.compile(r"\d[\d,]*")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")


class Target(NamedTuple):
    """One number of the text: `text[start:end]` reads `value`."""

    start: int
    end: int
    value: int
    word: bool = False


def counterfactual(problem: str, generator: random.Random) -> str | None:
    """Replace one quantity; None when the text holds none that is surely a quantity."""
    found = spans(problem)
    closed = [match.span() for pattern in (_EXAMPLE, _LIST) for match in pattern.finditer(problem)]
    for targets in (_plain(problem, found), _in_math(found), _words(problem, found)):
        usable = [
            target
            for target in targets
            if target.value > 1 and not any(start <= target.start < end for start, end in closed)
        ]
        if usable:
            target = generator.choice(usable)
            new = _other(target, {other.value for other in usable}, generator)
            return problem[: target.start] + new + problem[target.end :]
    return None


def _plain(text: str, found: Iterable[Span]) -> list[Target]:
    return [
        Target(span.start, span.end, int(span.text.replace(",", "")))
        for span in found
        if span.kind is SpanKind.NUMBER
        and _DIGITS.fullmatch(span.text)
        and len(span.text) <= 12
        and _is_quantity(text, span)
    ]


def _is_quantity(text: str, span: Span) -> bool:
    before, after = text[max(0, span.start - 12) : span.start], text[span.end : span.end + 5]
    naming = _NAMING.search(before) and not before.endswith("$")
    listed = re.match(r"[.)]\s", after) and (not before.strip() or before.endswith("\n"))
    clock = after[:1] == ":" or before[-1:] == ":" or re.match(r"\s?[ap]\.?m\b", after, re.IGNORECASE)
    year = _YEAR.fullmatch(span.text) and before[-1:] != "$"
    return not (naming or listed or clock or year or isinstance(span.value, str))


def _in_math(found: Iterable[Span]) -> list[Target]:
    targets = []
    for span in found:
        if span.kind is SpanKind.MATH and not span.text.startswith(("[asy]", "`", "http")):
            plain = _SCRIPT.sub(lambda match: "x" * len(match[0]), span.text)
            targets += [
                Target(span.start + match.start(), span.start + match.end(), int(match[0]))
                for match in _IN_MATH.finditer(plain)
                if not _YEAR.fullmatch(match[0])
            ]
    return targets


def _words(text: str, found: Iterable[Span]) -> list[Target]:
    return [
        Target(span.start, span.end, _WORDS.index(span.text.lower()), word=True)
        for span in found
        if span.kind is SpanKind.NUMBER_WORD
        and span.text.lower() in _WORDS[2:]
        and not _NO_COUNT.search(text[max(0, span.start - 8) : span.start])
    ]


def _other(target: Target, taken: set[int], generator: random.Random) -> str:
    """A near value that no other quantity of the text has."""
    unit = _unit(target.value)
    steps = [step for step in (-3, -2, -1, 1, 2, 3, 4, 5) if target.value + step * unit > 1]
    values = [target.value + step * unit for step in steps]
    if target.word:
        values = [value for value in values if value < len(_WORDS)]
    return _written(generator.choice([value for value in values if value not in taken] or values), target)


def _unit(value: int) -> int:
    """The step that keeps a round number round: 1 for 17, 10 for 150, 100 for 1500."""
    unit = 1
    while value % (unit * 10) == 0 and value > unit * 10:
        unit *= 10
    return unit


def _written(value: int, target: Target) -> str:
    if target.word:
        return _WORDS[value]
    return f"{value:,}" if target.end - target.start > len(str(target.value)) else str(value)
