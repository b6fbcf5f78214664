"""`paraphrase`: other words for the same problem."""

from collections import Counter

from scapo.perturb.checks.exchange import exchange_refusal
from scapo.perturb.checks.meaning import asked_refusal, keyword_refusal, name_refusal, negation_refusal
from scapo.perturb.checks.numbers import number_refusal, unit_refusal
from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.spans import math_spans


def check_paraphrase(original: str, text: str) -> Refusal | None:
    """Refuses changed math, lost, new or exchanged numbers, other names, keywords, negations or questions.

    Math must be there character for character, as often as before; its order is free, as clauses may move.
    """
    for refusal_of in _PARTS:
        if refusal := refusal_of(original, text):
            return refusal
    return None


def _math_refusal(original: str, text: str) -> Refusal | None:
    old, new = Counter(math_spans(original)), Counter(math_spans(text))
    if lost := old - new:
        return Refusal("math_lost", f"The expression {next(iter(lost))} is missing or changed.")
    if added := new - old:
        return Refusal("new_math", f"The expression {next(iter(added))} is new.")
    return None


_PARTS = (
    _math_refusal,
    number_refusal,
    unit_refusal,
    exchange_refusal,
    keyword_refusal,
    negation_refusal,
    name_refusal,
    asked_refusal,
)
