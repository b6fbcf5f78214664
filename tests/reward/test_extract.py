"""The answer box: last, balanced, outside the reasoning; linear on any text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapo.reward.extract import last_box

BRACE_FREE = st.text(st.characters(blacklist_characters="{}\\<>"), max_size=30)
BALANCED = st.recursive(
    BRACE_FREE,
    lambda inner: st.tuples(BRACE_FREE, inner, BRACE_FREE).map(lambda t: f"{t[0]}{{{t[1]}}}{t[2]}"),
)


@pytest.mark.parametrize(
    ("completion", "box"),
    [
        (r"so \boxed{7}.", "7"),
        (r"\fbox{42}", "42"),
        (r"\boxed 7.", "7"),
        (r"\boxed -3,5 apples", "-3,5"),
        (r"\\boxed{8}", "8"),
        ("\\boxed\n {9}", "9"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\left\{x \mid x > 0\right.}", r"\left\{x \mid x > 0\right."),
        (r"\boxed{2}. wait, actually \boxed{3}", "3"),
        (r"\boxed{\boxed{3} + 4}", r"\boxed{3} + 4"),
        (r"\boxed{7} and then cut off: \boxed{8", "7"),
        (r"}} \boxed{7} {", "7"),
        (r"{ \boxed{7}", "7"),
        (r"\boxed{}", ""),
        (r"\boxed{7", None),
        ("no box", None),
        (r"\boxedlist{3}", None),
        (r"use \boxed to mark it", None),
        (r"<think>\boxed{1}</think> \boxed{2}", "2"),
        (r"<think>\boxed{1}</think> two", None),
        (r"<think>\boxed{1}, still thinking", None),
        (r"template opened it: \boxed{1}</think>\boxed{2}<think>\boxed{3}", "2"),
    ],
)
def test_the_box_that_counts(completion, box):
    assert last_box(completion) == box


@given(before=BRACE_FREE, content=BALANCED, after=BRACE_FREE)
def test_any_balanced_content_comes_back_unchanged(before, content, after):
    assert last_box(f"{before}\\boxed{{{content}}}{after}") == content


@given(first=BALANCED, between=BRACE_FREE, second=BALANCED, after=BRACE_FREE)
def test_the_later_of_two_boxes_wins(first, between, second, after):
    assert last_box(f"\\boxed{{{first}}}{between}\\fbox{{{second}}}{after}") == second


@given(reasoning=st.text(max_size=60), content=BALANCED)
def test_reasoning_never_matters(reasoning, content):
    assert last_box(f"<think>{reasoning}</think>\\boxed{{{content}}}") == content


@given(st.text(alphabet="\\boxedf{}<>/think 7", max_size=200))
@settings(max_examples=300)
def test_what_is_found_is_in_the_text_and_balanced(text):
    box = last_box(text)
    if box is not None:
        assert box in text
        unescaped = box.replace("\\\\", "").replace("\\{", "").replace("\\}", "")
        assert unescaped.count("{") == unescaped.count("}")


@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{" * 1_000_000,
        "\\boxed{" * 200_000 + "}" * 200_000,
        "\\boxed{" + "{" * 1_000_000 + "}" * 1_000_000,
        "{" * 1_000_000 + "\\boxed{1}",
        "\\" * 1_000_000,
        "\\boxed" + " " * 1_000_000,
        "\\boxed " * 300_000,
        "\\boxed 1" + ",1" * 500_000,
        "<think>" * 200_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_million_signs_take_linear_time(text):
    start = time.process_time()
    last_box(text)
    assert time.process_time() - start < 5


def test_a_box_may_stand_anywhere_in_a_long_text_and_be_long():
    content = "+".join(["x"] * 400)
    assert last_box("word " * 50_000 + f"\\boxed{{{content}}}" + " word" * 50_000) == content
