"""Finding arithmetic steps, sentences and the answer region in a response."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapo.algorithm import find_spans


def by_characters(text):
    return [(i, i + 1) for i in range(len(text))]


def words(text):
    """Tokens of one word each, with the white space before it."""
    offsets, start = [], 0
    for word in text.split(" "):
        offsets.append((max(start - 1, 0), start + len(word)))
        start += len(word) + 1
    return offsets


def texts(text, offsets=None):
    offsets = offsets or by_characters(text)
    found = find_spans(text, offsets)
    pieces = [text[offsets[a][0] : offsets[b - 1][1]] for a, b in found.spans]
    return pieces, None if found.answer is None else text[offsets[found.answer[0]][0] :]


def test_arithmetic_and_sentences_before_the_answer():
    text = "Tom had 12 eggs. He buys 5 more, so 12 + 5 = 17. Is that all? Yes, it is! The final answer is 17."
    spans, answer = texts(text)
    assert spans == ["Tom had 12 eggs.", "12 + 5 = 17", "Is that all?", "Yes, it is!"]
    assert answer == "final answer is 17."


@pytest.mark.parametrize(
    ("tail", "answer"),
    [
        ("#### 17", "#### 17"),
        ("Final Answer: 17 #### 17", "Final Answer: 17 #### 17"),
        ("#### 17, the final answer", "#### 17, the final answer"),
        (r"so \boxed{16} no \boxed{17}", r"\boxed{16} no \boxed{17}"),
        (r"\boxed{16} final answer 17", "final answer 17"),
        ("so it is 17", None),
    ],
)
def test_where_the_answer_region_begins(tail, answer):
    assert texts("We add all of them up. " + tail)[1] == answer


def test_without_an_answer_region_there_are_no_spans():
    assert find_spans("We add all. 1 + 2 = 3 and so on", by_characters("x" * 31)).spans == ()


@pytest.mark.parametrize(
    "step",
    [
        "12+5=17",
        "3 * 4 = 12",
        "2 + 3 + 4 = 9",
        r"3 \times 4 = 12",
        "1,200 - 200 = 1,000",
        "0.5 / 0.1 = 5",
        "3 × 4 = 12",
    ],
)
def test_shapes_of_arithmetic(step):
    assert texts(f"so we see {step} here #### 1")[0] == [step]


@pytest.mark.parametrize("no_step", ["x + y = 17", "12 = 12", "12 plus 5 = 17", "12 + = 17"])
def test_what_is_no_arithmetic(no_step):
    assert texts(f"so we see {no_step} here #### 1")[0] == []


def test_a_decimal_point_ends_no_sentence_and_an_unfinished_sentence_is_none():
    assert texts("It costs 3.5 each. And then we #### 1")[0] == ["It costs 3.5 each."]


def test_an_empty_line_ends_a_sentence():
    assert texts("First we look\n \nThen we add\n\nand so #### 1")[0] == ["First we look", "Then we add"]


def test_length_is_counted_in_tokens():
    short = "One two three four."
    five = "One two three four five."
    fifty = " ".join(["w"] * 49) + " end."
    fifty_one = " ".join(["w"] * 50) + " end."
    text = f"{short} {five} {fifty} {fifty_one} #### 1"
    assert [s.strip() for s in texts(text, words(text))[0]] == [five, fifty]


def test_at_most_five_arithmetic_spans_and_ten_in_all():
    steps = " ".join(f"{i} + {i} = {2 * i}" for i in range(10, 20))
    assert len(texts(f"{steps} #### 1")[0]) == 5
    sentences = "We go on like this. " * 12
    pieces, _ = texts(f"{sentences}{steps} #### 1")
    assert pieces == ["We go on like this."] * 10  # the first ten by position
    pieces, _ = texts(f"{steps}. {sentences} #### 1")
    assert [piece.count("=") for piece in pieces] == [1] * 5 + [0] * 5


def test_spans_full_of_backslashes_are_dropped():
    assert texts(r"\\\\\\a. This one stays. #### 1")[0] == ["This one stays."]


def test_sentences_that_overlap_arithmetic_are_dropped():
    assert texts("We know that 1 + 2 = 3 is so. #### 1")[0] == ["1 + 2 = 3"]


@given(st.text(alphabet="1+= .\n\\boxed{}#?a", max_size=200))
def test_any_text_gives_ordered_disjoint_spans_before_the_answer(text):
    text += " final answer"
    found = find_spans(text, by_characters(text))
    assert found.answer is not None
    edges = [edge for span in found.spans for edge in span] + [found.answer[0]]
    assert edges == sorted(edges)
    assert all(5 <= stop - start <= 50 for start, stop in found.spans)
    assert len(found.spans) <= 10


@pytest.mark.parametrize("hostile", ["1+", "1", "1 ", "\n", ". ", " ", "-", "1,111", "1+1+1 ", "1 = "])
def test_hostile_text_does_not_hang(hostile):
    text = hostile * (100_000 // len(hostile)) + "####"
    start = time.process_time()
    find_spans(text, [(i, i + 4) for i in range(0, len(text), 4)])
    assert time.process_time() - start < 5


def test_no_tokens():
    assert find_spans("#### 1", []).answer == (0, 0)
    assert find_spans("", []).answer is None
