"""Finding math, numbers and words in problem texts."""

import time
from fractions import Fraction
from itertools import pairwise

import pytest

from scapo.perturb.spans import SpanKind, math_spans, number_spans, spans, word_spans


def values(text):
    return [span.value for span in number_spans(text)]


def words(text):
    return [span.text for span in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Let $x$ be $\\frac{1}{2}$.", ["$x$", "$\\frac{1}{2}$"]),
        ("Find \\(a_1 + b_1\\) and\n\\[x^2\n= 4.\\]Then stop.", ["\\(a_1 + b_1\\)", "\\[x^2\n= 4.\\]"]),
        ("$$x+1$$ costs $\\$5$.", ["$$x+1$$", "$\\$5$"]),
        ("the form \\frac{k}{m}, where", ["\\frac{k}{m}"]),
        ("a \\frac{\\sqrt{m}}{n} b_1^{2}", ["\\frac{\\sqrt{m}}{n}", "b_1^{2}"]),
        ("100_{10} in base b has", ["100_{10}", "b"]),
        ("give k + m, please", ["k", "+", "m"]),
        ("f(x)=2x and 4t^2+bt-2", ["f(x)=2x", "4t^2+bt-2"]),
        ("\\begin{align*}x &= 2\\end{align*} so", ["\\begin{align*}x &= 2\\end{align*}"]),
        ("see [asy]draw(A--B);[/asy] now", ["[asy]draw(A--B);[/asy]"]),
        ("run ```\nprint(1)\n``` or `x`", ["```\nprint(1)\n```", "`x`"]),
        ("Town A and Town B", ["A", "B"]),
        ("the x-axis, Box A's price", ["x", "A"]),
        ("a T-shirt and an X-ray; a cat. A dog and I", []),
        ("Juan's 80cm rod, the 2nd at 5pm", []),
        ("设 $a>0$，请给出m+n的值。", ["$a>0$", "m+n"]),
        ("doubled $\\\\frac{1}{2}$ and \\\\cdots", ["$\\\\frac{1}{2}$", "\\\\cdots"]),
    ],
)
def test_math_is_found_character_for_character(text, expected):
    assert math_spans(text) == expected


def test_money_is_no_math():
    text = "She sold 80 cookies for $1 each and 60 cupcakes for $4.50 each, $5-$10 more than $.1."
    assert math_spans(text) == []
    assert values(text) == [Fraction(n) for n in ("80", "1", "60", "4.5", "5", "10", "0.1")]


def test_an_unpaired_dollar_does_not_swallow_the_prose():
    text = "Let $x be a number with a long story and let $y$ be another."
    assert math_spans(text) == ["x", "$y$"]
    assert "number" in words(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two cats, too many", [2]),
        ("1,360 meals, 12,500.75 dollars", [1360, Fraction("12500.75")]),
        ("1/4 of it, a quarter, 0.25", [Fraction(1, 4)] * 3),
        ("two-thirds, one third, 2/3", [Fraction(2, 3), Fraction(1, 3), Fraction(2, 3)]),
        ("a third of them; the third child", [Fraction(1, 3), "ordinal 3"]),
        ("twenty-four, a dozen, twice", [24, 12, 2]),
        ("a pair of 3rd-grade twins", ["pair", "ordinal 3"]),
        ("the 24th, the second", ["ordinal 24", "ordinal 2"]),
        ("half of 3 hundred", [Fraction(1, 2), 3, 100]),
        ("-5 degrees, a 6-sided die, 1:16", [-5, 6, 1, 16]),
        ("1/0 is nothing", ["1/0"]),
    ],
)
def test_numbers_in_digits_and_words_have_values(text, expected):
    assert values(text) == expected


def test_spans_are_in_order_and_cut_the_text_exactly():
    text = "If $x=2$, how many of the 3 dogs (two of them old) get x+1 treats?"
    found = spans(text)
    assert all(text[span.start : span.end] == span.text for span in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert [s.text for s in found if s.kind is SpanKind.WORD][:4] == ["If", "how", "many", "of"]


HOSTILE = [
    "$" * 8000, "\\(" * 4000, "\\begin{a}" * 900, "{" * 8000 + "\\", "\\a{" * 2700, "`" * 8001, "$x " * 2700,
    "a/" * 4000, "1," * 4000, "3/" * 4000, "\\" * 8000, "[asy]" * 1600, "1,111" * 1600, "a'" * 4000,
    "9" * 8000, "1/" + "9" * 8000, "x^" * 4000, "(" * 8000, "A " * 4000, "\x00" * 3000, "\ud800" * 10,
    "two-" * 2000,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:8]))
def test_hostile_texts_take_linear_time(text):
    def seconds(size):
        part = text[: len(text) * size // 4]
        start = time.process_time()
        spans.__wrapped__(part)
        return time.process_time() - start

    assert min(seconds(4) for _ in range(2)) < 0.4
