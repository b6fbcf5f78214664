"""`counterfactual`: exactly one quantity of the problem is another one."""

import re
from typing import NamedTuple

from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.spans import SpanKind, spans
from scapo.perturb.tokens import words_and_marks
from scapo.perturb.values import Value

_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_FORMS = (
    {"is", "are"},
    {"was", "were"},
    {"has", "have"},
    {"a", "an"},
    {"this", "these"},
    {"it", "them"},
    {"its", "their"},
)
MAX_FORMS = 4


class Skeleton(NamedTuple):
    """A text with `#` for each number, and the numbers."""

    words: list[str]
    numbers: list[Value]


def check_counterfactual(original: str, text: str) -> Refusal | None:
    """Refuses anything but the original with one number replaced (and singular and plural adjusted to it)."""
    old, new = _skeleton(original), _skeleton(text)
    if len(old.words) != len(new.words):
        return Refusal("text_changed", "Words were added or removed; only one number may change.")
    changed = [(a, b) for a, b in zip(old.words, new.words, strict=True) if a != b]
    if len(changed) > MAX_FORMS or not all(_is_other_form(a, b) for a, b in changed):
        return Refusal(
            "text_changed", f"'{changed[0][0]}' became '{changed[0][1]}'; only one number may change."
        )
    count = sum(a != b for a, b in zip(old.numbers, new.numbers, strict=True))
    if count != 1:
        return Refusal("not_one_quantity", f"{count} numbers changed; exactly one must.")
    return None


def _skeleton(text: str) -> Skeleton:
    words: list[str] = []
    numbers: list[Value] = []
    position = 0
    for span in spans(text):
        if span.value is None and span.kind is not SpanKind.MATH:
            continue
        words += words_and_marks(text[position : span.start])
        words.append(_DIGITS.sub("#", span.text) if span.kind is SpanKind.MATH else "#")
        numbers += _DIGITS.findall(span.text) if span.kind is SpanKind.MATH else [span.value or ""]
        position = span.end
    return Skeleton(words + words_and_marks(text[position:]), numbers)


def _is_other_form(a: str, b: str) -> bool:
    """Singular and plural of one word."""
    low, high = sorted((a.lower(), b.lower()), key=len)
    endings = ("s", "es") if low.isalpha() else ()
    return high in [low + ending for ending in endings] or high == low[:-1] + "ies" or {low, high} in _FORMS
