"""Token classes: the rules by a table worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapo.diagnose.classes import TokenClass, strip_punctuation, token_class
from scapo.diagnose.lexicon import CONNECTIVES, REFLECTION

TABLE = {
    "reflection": ["wait", " Wait", "Wait,", "**Wait**", "but", " BUT", "However", "hmm", "any", "(again)"],
    "connective": ["and", " therefore", "Thus", " If,", "so", "or", "because", "for", "since\n"],
    "math symbol": [
        "\\", "\\frac", " \\[", "=", " +", "}{", "^{", "_", "-", "$", "∑", "≤", ")=(", "**", "()", "°",
    ],
    "number": ["7", " 42", "-3", "+5", "−5", "3.14", ".5", "12.", "50%", "1,000", "1,234.5", "٣", "0"],
    "word": ["apple", " Mia", "x", "sin", "Android", "3rd", "x2", "don't", "数", "é", "a=b", "andy"],
    # "!)": a bracket is a math character, the exclamation mark is not, but both are punctuation
    "punctuation": [".", ",", ":", " ?", "...", '"', "“", "?!", "!)", "、", ".\n"],
    "whitespace": [" ", "\n", "\n\n", "\t", "  ", "\u00a0", "\u2028"],
    "other": ["", "\ufffd", " a\ufffd", "🙂", "1,00", "1.2.3", "©", "£5", "\x00"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"), [(text, name) for name, texts in TABLE.items() for text in texts]
)
def test_class_by_hand(text, expected):
    assert token_class(text) == expected


def test_control_tokens_are_other_whatever_they_look_like():
    assert token_class("<|im_end|>", control=True) == TokenClass.OTHER
    assert token_class("and", control=True) == TokenClass.OTHER


def test_the_order_is_the_tables():
    assert [str(name) for name in TokenClass] == list(TABLE)


def test_the_word_lists_do_not_overlap_and_hold_single_lower_case_words():
    assert not CONNECTIVES & REFLECTION
    assert len(CONNECTIVES) == 80
    assert len(REFLECTION) == 16
    assert all(word.isalpha() and word == word.lower() for word in CONNECTIVES | REFLECTION)


@given(st.text(max_size=12))
def test_any_text_has_exactly_one_class(text):
    assert isinstance(token_class(text), TokenClass)


@given(st.text(max_size=8))
def test_stripping_leaves_no_edge_punctuation(text):
    bare = strip_punctuation(text)
    assert bare in text
    assert strip_punctuation(bare) == bare


@pytest.mark.parametrize(
    "text", ["\\" * 5000, "1" * 5000 + "x", "1,111" * 2000, ("1" * 3 + ",") * 2000 + "x"]
)
def test_long_tokens_take_no_time(text):
    assert token_class(text)
