r"""Answers that can be compared as written: numbers, option letters, words.

These need no computer algebra and no second process: data with integer answers is scored entirely here.
"""

import re
from fractions import Fraction

from scapo.reward.number import Form, Number, as_number, last_side, percent_factors, without_label
from scapo.reward.outcome import Reason
from scapo.reward.text import canonical

DECIMAL_TOLERANCE = Fraction(1, 10**6)
"""Relative; applies only where the gold itself is written as a decimal: exact golds want exact answers."""

_TEXT = re.compile(r"\\(?:text|mathrm) ?\{([^{}]*)\}")
_OPTION = re.compile(r"\(?([A-Z])\)?")
_STATED_OPTION = re.compile(r"(?:\(([A-Z])\)|([A-Z])(?=[).:]|\Z))(?!.*(?:\([A-Z]\)|(?<![A-Za-z])[A-Z][).:]))")
_IN_BASE = re.compile(r"([0-9A-Fa-f]+) ?_ ?\{? ?(-?[0-9]+) ?\}?")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?: ?([ap])\.? ?m\.?)?", re.IGNORECASE)
_WORD = re.compile(r"\\text ?\{[^{}0-9]*\}|[A-Za-z]{4,}")


def decide(gold: str, box: str) -> Reason | None:
    """The reason where the texts alone decide, else None (then algebra must). Both texts normalised."""
    if canonical(gold) == canonical(box):
        return Reason.CORRECT
    for rule in (_option, _number, _in_base, _clock, _word):
        if (right := rule(gold, box)) is not None:
            return Reason.CORRECT if right else Reason.WRONG
    return None


def _option(gold: str, box: str) -> bool | None:
    """A capital letter as gold: the box must state that letter, alone or as the label of one option."""
    if not (letter := _OPTION.fullmatch(_opened(gold))):
        return None
    stated = _STATED_OPTION.match(last_side(_opened(box)))
    return stated is not None and letter[1] in (stated[1], stated[2])


def _number(gold: str, box: str) -> bool | None:
    """A number as gold. An integer gold wants a numeral: `1+3+5` and `\\frac{18}{2}` don't state 9."""
    wanted = as_number(gold, named=True)  # the equation 3x + 4y = 0 isn't the number 0
    if wanted is None:
        return None
    found = as_number(box)
    exact_integer = wanted.form is Form.INTEGER and not wanted.percent
    if found is None:
        return False if exact_integer else None
    return not (exact_integer and found.form is Form.FRACTION) and _same(wanted, found)


def _same(gold: Number, box: Number) -> bool:
    tolerance = abs(gold.value) * DECIMAL_TOLERANCE if gold.form in (Form.DECIMAL, Form.SCIENTIFIC) else 0
    return any(
        abs(gold.value - factor * box.value) <= tolerance
        for factor in percent_factors(gold.percent, box.percent)
    )


def _in_base(gold: str, box: str) -> bool | None:
    """`4343_6`: same digits; the base may be left out but not be another."""
    if not (wanted := _IN_BASE.fullmatch(gold)):
        return None
    found = _IN_BASE.fullmatch(last_side(box)) or re.fullmatch(r"([0-9A-Fa-f]+)()", last_side(box))
    return found is not None and found[1].upper() == wanted[1].upper() and found[2] in ("", wanted[2])


def _clock(gold: str, box: str) -> bool | None:
    """A time of day: `4{:}30`; a.m. or p.m. may be left out, not be the other. `4:30` may be a ratio."""
    wanted, found = _CLOCK.fullmatch(_opened(gold)), _CLOCK.fullmatch(last_side(_opened(box)))
    if not wanted:
        return None
    if found and wanted.groups()[:2] == found.groups()[:2]:
        return not (wanted[3] and found[3]) or wanted[3].lower() == found[3].lower()
    return False if wanted[3] else None


def _word(gold: str, box: str) -> bool | None:
    """A word as gold (`\\text{Evelyn}`): the box must be that word, in any case, with or without `\\text`."""
    if not _WORD.fullmatch(gold):
        return None
    return canonical(_opened(gold)) == canonical(last_side(without_label(_opened(box))))


def _opened(text: str) -> str:
    return re.sub(" +", " ", _TEXT.sub(r"\1", text)).strip()
