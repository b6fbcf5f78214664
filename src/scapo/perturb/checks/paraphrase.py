"""`paraphrase`: other words for the same problem."""

import re
from collections import Counter
from fractions import Fraction

from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.spans import math_spans, number_spans
from scapo.perturb.values import Value

_ASKS = re.compile(r"\?|\b(?:find|determine|compute|calculate|evaluate|simplify|express|what|how|give|provide|solve|factor|expand|"
                   r"convert|write|list|state|identify|enter|prove|show|name|which|who|figure out|work out|tell)\b", re.IGNORECASE)


def check_paraphrase(original: str, text: str) -> Refusal | None:
    """Refuses lost, new or exchanged numbers and math, and a text that no longer asks."""
    return _math_refusal(original, text) or _number_refusal(original, text) or _asked_refusal(original, text)


def _math_refusal(original: str, text: str) -> Refusal | None:
    old, new = Counter(math_spans(original)), Counter(math_spans(text))
    if lost := old - new:
        return Refusal("math_lost", f"The expression {next(iter(lost))} is missing or changed.")
    if added := new - old:
        return Refusal("new_math", f"The expression {next(iter(added))} is new.")
    return None


def _number_refusal(original: str, text: str) -> Refusal | None:
    old, new = _values(original), _values(text)
    if lost := old - new:
        return Refusal("number_lost", f"The number {_show(next(iter(lost)))} is missing or said less often.")
    if added := new - old:
        return Refusal("new_number", f"The number {_show(next(iter(added)))} is new or said more often.")
    return None


def _values(text: str) -> "Counter[Value]":
    return Counter(span.value for span in number_spans(text) if span.value is not None)


def _show(value: Value) -> str:
    return str(value) if not isinstance(value, Fraction) else str(value)


def _asked_refusal(original: str, text: str) -> Refusal | None:
    if _ASKS.search(original) and not _ASKS.search(text):
        return Refusal("nothing_asked", "The rewrite no longer asks for anything.")
    return None
