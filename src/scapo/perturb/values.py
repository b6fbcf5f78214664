"""What numbers and number words stand for, so that '2', 'two' and 'twice' can be compared."""

import re
from fractions import Fraction

Value = Fraction | str
"""A number, or a tagged string for what is no plain number: 'ordinal 3', 'pair'."""

MAX_DIGITS = 100  # longer digit strings are compared as strings (and Python refuses to parse very long ones)
NUMBER = r"(?P<number>(?:(?<![\w.)])[-−])?(?:\d+/\d+|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|\.\d+))"

_UNITS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
          "seventeen eighteen nineteen").split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = ("zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
             "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth").split()
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_MULTIPLES = {
    "twice": 2, "double": 2, "doubles": 2, "doubled": 2, "doubling": 2, "twofold": 2,
    "thrice": 3, "triple": 3, "triples": 3, "tripled": 3, "tripling": 3, "threefold": 3,
    "quadruple": 4, "quadruples": 4, "quadrupled": 4, "quintuple": 5,
}
_PARTS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4}


def _table() -> dict[str, Value]:
    table: dict[str, Value] = {word: Fraction(n) for n, word in enumerate(_UNITS)}
    table |= {word: Fraction(10 * n) for n, word in enumerate(_TENS, start=2)}
    table |= {word: f"ordinal {n}" for n, word in enumerate(_ORDINALS)}
    table |= {word.replace("y", "ieth"): f"ordinal {10 * n}" for n, word in enumerate(_TENS, start=2)}
    for word, n in _SCALES.items():
        table |= {word: Fraction(n), word + "s": Fraction(n)}
    table["dozens"] = Fraction(12)
    table |= {word: Fraction(n) for word, n in _MULTIPLES.items()}
    table |= {word: Fraction(1, n) for word, n in _PARTS.items()}
    table |= {word + "s": Fraction(1, n) for n, word in enumerate(_ORDINALS[3:], start=3)}
    return table | {"pair": "pair", "pairs": "pair", "couple": "pair", "once": "ordinal 1"}


_WORDS = _table()
NUMBER_WORDS = frozenset(_WORDS)


def word_value(word: str) -> Value | None:
    """What a number word stands for; None for any other word."""
    return _WORDS.get(word.lower())


def number_value(digits: str, ordinal: bool = False) -> Value:
    """The value of digits such as '1,360', '.5', '3/5', '24' (of '24th')."""
    plain = digits.replace(",", "").replace("−", "-")
    if ordinal:
        return f"ordinal {plain}"
    numerator, _, denominator = plain.partition("/")
    if len(plain) > MAX_DIGITS or (denominator and not int(denominator)):
        return digits
    return Fraction(numerator) / int(denominator) if denominator else Fraction(plain)


def combine(left: Value | None, word: str, right: Value | None) -> Value | None:
    """Join 'twenty' + 'four' and 'two' + 'thirds'; None when the two words are two numbers."""
    if not isinstance(left, Fraction):
        return None
    name = word.lower()
    if name in _UNITS[1:10] and left in {Fraction(n) for n in range(20, 100, 10)}:
        return left + _UNITS.index(name)
    part = _part(name)
    if part and left.denominator == 1 and (left == 1) != name.endswith("s"):
        return left / part
    return None


def part_value(word: str) -> Value | None:
    """1/3 for 'third', 1/8 for 'eighth'; None for 'first' and 'second' and all other words."""
    part = _part(word.lower())
    return Fraction(1, part) if part else None


def _part(name: str) -> int | None:
    if name in _PARTS:
        return _PARTS[name]
    stem = re.sub(r"s$", "", name)
    return _ORDINALS.index(stem) if stem in _ORDINALS[3:] else None
