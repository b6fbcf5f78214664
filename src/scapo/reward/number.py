r"""Read an answer as a number: `1{,}234`, `x = 12`, `336^\circ`, `\textbf{(B) }12`, `4.5 \times 10^{33}`.

Only numerals count; nothing is evaluated. Input is normalised text (scapo.reward.text).
"""

import re
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from scapo.reward.text import closing, split, strip_group


class Form(StrEnum):
    """How a number is written."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    SCIENTIFIC = "scientific"
    FRACTION = "fraction"


class Number(NamedTuple):
    """A numeral: its value (20 for 20 %), how it is written, and whether a percent sign followed."""

    value: Fraction
    form: Form
    percent: bool


_SIGN = r"(?P<sign>[-+]?) ?"
_INTEGER = re.compile(_SIGN + r"(?P<digits>[0-9]{1,3}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+)|[0-9]+)\.?")
_DECIMAL = re.compile(_SIGN + r"(?P<digits>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]*)\.[0-9]+)")
_SCIENTIFIC = re.compile(
    _SIGN + r"(?P<digits>[0-9]+(?:\.[0-9]+)?)"
    r"(?: ?(?:\\times|\\cdot|\*) ?10 ?\^ ?(?:\{ ?(?P<power>[-+]?[0-9]{1,3}) ?\}|(?P<digit>[0-9])(?![0-9]))"
    r"|[eE](?P<exponent>[-+]?[0-9]{1,3}))"
)
_FRACTION = re.compile(
    _SIGN + r"(?:\\frac\{ ?(?P<top>-?[0-9]+)\.? ?\}\{ ?(?P<bottom>-?[0-9]+) ?\}"
    r"|(?P<over>[0-9]+)\.? ?/ ?(?P<under>[0-9]+))"
)

_TEXT = re.compile(r"\\(?:text|mathrm) ?\{([^{}]*)\}")
_LABEL_TEXT = re.compile(r" ?\(?[A-J][).:]")
_OPTION_LABEL = re.compile(r"(?:\([A-J]\)[.:]?|[A-J][).:]) ?(?=[^ ])")
_RELATION = re.compile(r"(?<![<>!\\])=|\\approx(?![A-Za-z])")
NAME = re.compile(r"\\?[A-Za-z]+(?:_(?:[A-Za-z0-9]|\{[^{}]*\}))?'?(?: ?\([^()]*\))?")
"""What may be named as the answer on the left of an equals sign: `x`, `a_n`, `f(2)`, `AB`."""
_SEVERAL = re.compile(r"[,;]|(?<![A-Za-z])(?:and|or)(?![A-Za-z])|\\pm", re.IGNORECASE)
_CURRENCY = re.compile(r"(?:[£€¥₹]|\\(?:pounds|euro)(?![A-Za-z])|USD|Rs\.?|RM) ?")
_PERCENT = re.compile(r" ?(?:\\?%|\\(?:text|mathrm) ?\{ ?(?:\\?%|percent) ?\}|percent)\Z")
_DEGREES = re.compile(r" ?\^\{\\circ\}")
_UNIT = re.compile(  # the last unit: a text group, a word after a space, a short unit right after digits
    r"(?: ?/)? ?(?P<unit>\\(?:text|mathrm) ?\{[^{}]*\}|(?<= )[A-Za-z]{2,}"
    r"|(?<=[0-9])(?:[mck]m|k?g|mg|ml|ft|in|lb|mph))"
    r"(?: ?\^ ?\{? ?-?[0-9] ?\}?)? ?\Z"
)
_CHANGES_VALUE = re.compile(  # words that make "5 <word>" something else than 5 of a unit
    r"(?<![A-Za-z])(?:and|or|not|mod|pi|sqrt|log|ln|sin|cos|tan|exp|hundred|thousand|[mb]illion|trillion|dozen|more|less)"
    r"(?![A-Za-z])|\{ ?[eijd] ?\}",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def as_number(text: str, named: bool = False) -> Number | None:
    """The numeral that a normalised answer consists of (after `=`, see last_side), None for anything else."""
    text, percent = without_percent(last_side(without_label(strip_group(text)), named))
    text = without_units(_DEGREES.sub("", text))
    text = _without_brackets(_CURRENCY.sub("", text, count=1) if _CURRENCY.match(text) else text)
    for form, pattern in _FORMS:
        if match := pattern.fullmatch(text):
            value = _value(form, match)
            return None if value is None else Number(value, form, percent)
    return None


def without_label(text: str) -> str:
    """Without a choice's label: `(B) 12` is `12`; a text group that holds one is opened first."""
    opened = _TEXT.sub(lambda group: f" {group[1]} " if _LABEL_TEXT.match(group[1]) else group[0], text)
    opened = re.sub(" +", " ", opened).strip()
    label = _OPTION_LABEL.match(opened)
    return opened[label.end() :] if label else opened


def last_side(text: str, named: bool = False) -> str:
    r"""What follows the last `=` or `\approx`.

    The text itself where several answers are listed, or (`named`) where the left side is no name.
    """
    *lefts, right = split(text, _RELATION)
    if any(_SEVERAL.search(left) or (named and left and not NAME.fullmatch(left)) for left in lefts):
        return text
    return right


def without_percent(text: str) -> tuple[str, bool]:
    """The text before a percent sign at its end, and whether there was one."""
    bare = _PERCENT.sub("", text)
    return bare, bare != text


def percent_factors(gold: bool, box: bool) -> tuple[Fraction, ...]:
    """By what the box's value may be multiplied: with one percent sign, 20 % may be 20 or 0.2."""
    if gold == box:
        return (Fraction(1),)
    return Fraction(1), Fraction(100) if gold else Fraction(1, 100)


def without_units(text: str) -> str:
    """Without units at the end: `12 \\text{ cm}^2` and `89 \\mathrm{km} / \\mathrm{h}` are 12 and 89."""
    while (unit := _UNIT.search(text)) and unit.start() and not _CHANGES_VALUE.search(unit["unit"]):
        text = text[: unit.start()]
    return text.strip()


def _without_brackets(text: str) -> str:
    text = strip_group(text.strip())
    while text.startswith("(") and text.endswith(")") and closing(text, 0) == len(text) - 1:
        text = strip_group(text[1:-1].strip())
    return text


def _value(form: Form, match: re.Match[str]) -> Fraction | None:
    sign = -1 if match["sign"] == "-" else 1
    if form is Form.FRACTION:
        top, bottom = int(match["top"] or match["over"]), int(match["bottom"] or match["under"])
        return sign * Fraction(top, bottom) if bottom else None
    value = sign * Fraction(match["digits"].replace(",", "").replace(" ", ""))
    if form is Form.SCIENTIFIC:
        value *= Fraction(10) ** int(match["power"] or match["digit"] or match["exponent"])
    return value


_FORMS = (
    (Form.INTEGER, _INTEGER),
    (Form.DECIMAL, _DECIMAL),
    (Form.SCIENTIFIC, _SCIENTIFIC),
    (Form.FRACTION, _FRACTION),
)
