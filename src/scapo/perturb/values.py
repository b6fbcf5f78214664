"""What numbers and number words stand for, so that '2', 'two' and 'twice' can be compared."""

from fractions import Fraction
from functools import cache

from scapo.perturb.lexicon import lines

Value = Fraction | str
"""A number, or a tagged string for what is no plain number: 'ordinal 3', 'pair'."""

MAX_DIGITS = 100  # longer digit strings are compared as strings (and Python refuses to parse very long ones)
NUMBER = r"(?P<number>(?:(?<![\w.)])[-−])?(?:\d+/\d+|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|\.\d+))"


@cache
def _table() -> dict[str, Value]:
    """data/number_words.txt."""
    table: dict[str, Value] = {}
    for line in lines("number_words"):
        word, _, value = line.partition(" ")
        table[word] = Fraction(value) if value[0].isdigit() else value
    return table


def word_value(word: str) -> Value | None:
    """What a number word stands for; None for any other word."""
    return _table().get(word.lower())


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
    if isinstance(right, Fraction) and left in range(20, 100, 10) and right in range(1, 10):
        return left + right
    part = part_value(word)
    if part and left.denominator == 1 and (left == 1) != word.lower().endswith("s"):
        return left * part
    return None


def part_value(word: str) -> Fraction | None:
    """1/3 for 'third' and 'thirds', 1/2 for 'half'; None for 'first', 'second' and all other words."""
    value = word_value(word)
    if isinstance(value, Fraction):
        return value if 0 < value < 1 else None
    plural = word_value(word + "s")
    return plural if isinstance(value, str) and isinstance(plural, Fraction) and 0 < plural < 1 else None
