"""Graders beyond the plain answer: multiple choice (GPQA) and several answers (OlympiadBench)."""

from collections import Counter

import pytest

from scapo.evaluate.choice import ORDERS, boxed_letter, gold_letter, grade_choice, options, question_text
from scapo.evaluate.several import grade_answers, split_answers, without_unit
from scapo.reward import Reason

QUESTION, RIGHT, WRONG = "Which is a noble gas?", "argon", ("iron", "oxygen", "copper")


def test_all_24_orders_appear_once():
    seen = {tuple(options(QUESTION, RIGHT, WRONG, sample)) for sample in range(24)}
    assert len(seen) == len(ORDERS) == 24
    golds = Counter(gold_letter(QUESTION, RIGHT, WRONG, sample) for sample in range(24))
    assert golds == {"A": 6, "B": 6, "C": 6, "D": 6}


def test_the_order_is_a_pure_function_of_question_and_sample():
    first = [gold_letter(QUESTION, RIGHT, WRONG, sample) for sample in range(24)]
    assert first == [gold_letter(QUESTION, RIGHT, WRONG, sample) for sample in range(24)]
    text = question_text(QUESTION, RIGHT, WRONG, 3)
    assert f"({first[3]}) argon" in text
    assert text.startswith(QUESTION)


def test_first_samples_of_many_questions_spread_the_gold_over_the_letters():
    golds = Counter(gold_letter(f"question {n}", RIGHT, WRONG, 0) for n in range(400))
    assert all(70 <= golds[letter] <= 130 for letter in "ABCD")


@pytest.mark.parametrize(
    ("box", "letter"),
    [
        ("B", "B"), ("b", "B"), ("(B)", "B"), (r"\text{B}", "B"), (r"\mathbf{(C)}", "C"), ("$A$", "A"),
        ("D.", "D"), ("C) 5 m/s", "C"), ("(A): argon", "A"),
        ("argon", None), ("A particle", None), ("AB", None), ("E", None), ("", None), ("A, B", None),
    ],
)  # fmt: skip
def test_letters_in_the_box(box, letter):
    assert boxed_letter(box) == letter


def test_only_the_box_counts():
    assert grade_choice("The answer is B.", "B") == (0.0, Reason.NO_BOX, None)
    assert grade_choice(r"A, B or C? \boxed{B}", "B") == (1.0, Reason.CORRECT, "B")
    assert grade_choice(r"B! \boxed{C}", "B") == (0.0, Reason.WRONG, "C")
    assert grade_choice(r"\boxed{argon}", "B").reason == Reason.UNPARSEABLE


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("$69$,$84$", ["69", "84"]),
        ("$221,$8$", ["221", "8"]),
        ("$(1,8,19), (2,7,13)$", ["(1,8,19)", "(2,7,13)"]),
        ("1 and 3", ["1", "3"]),
        (r"1 \text{ and } 3", ["1", "3"]),
        ("2; 3", ["2", "3"]),
        (r"\pm 2", ["+ 2", "- 2"]),
        (r"\{1, 2\}", ["1", "2"]),
        (r"\frac{1}{2}, f(x,y)", [r"\frac{1}{2}", "f(x,y)"]),
    ],
)
def test_answers_are_split_outside_brackets(text, parts):
    assert split_answers(text) == parts


@pytest.mark.parametrize(
    ("box", "right"),
    [("69, 84", 1), ("84,69", 1), ("84 and 69", 1), ("69", 0), ("69,84,1", 0), ("69,69", 0), ("70,84", 0)],
)
def test_several_answers_in_any_order_all_of_them_and_no_more(box, right):
    score = grade_answers(rf"So \boxed{{{box}}}.", "$69$,$84$", several=True)
    assert score.value == right
    assert score.reason == (Reason.CORRECT if right else Reason.WRONG)


def test_tuples_in_any_order():
    gold = "$(3,2),(-3,2)$"
    assert grade_answers(r"\boxed{(-3,2), (3,2)}", gold, several=True).value == 1
    assert grade_answers(r"\boxed{(2,-3), (3,2)}", gold, several=True).value == 0


def test_a_single_answer_is_not_split():
    assert grade_answers(r"\boxed{84,69}", "(69,84)").value == 0


@pytest.mark.parametrize(
    ("box", "unit"),
    [
        ("45", "minute"), (r"45 \text{ minutes}", "minute"), ("45 minutes", "minute"),
        (r"45^{\circ}", r"^{\circ}"), (r"45^\circ", r"^{\circ}"), (r"45\%", "%"), ("45%", "%"),
        (r"45 \mathrm{~cm}^2", "$cm^2$"), ("45 km/h", "km/h"), ("45 km", "km"),
    ],
)  # fmt: skip
def test_a_unit_may_be_written_or_not(box, unit):
    assert grade_answers(rf"\boxed{{{box}}}", "45", unit=unit).value == 1
    assert grade_answers(r"\boxed{46}", "45", unit=unit).value == 0


def test_units_are_taken_off_only_at_the_end():
    assert without_unit("45 minutes", "minute") == "45"
    assert without_unit("minimum 45", "min") == "minimum 45"


@pytest.mark.parametrize(
    ("box", "right"), [("4.2", 1), ("4.3", 1), ("4.1", 1), ("4.31", 0), ("4.09", 0), (r"4.25\%", 1), ("x", 0)]
)
def test_error_tolerance(box, right):
    assert grade_answers(rf"\boxed{{{box}}}", "4.2", unit="%", error=0.1).value == right


def test_without_a_tolerance_close_is_wrong():
    assert grade_answers(r"\boxed{4.25}", "4.2", unit="%").value == 0


def test_no_box_stays_no_box():
    assert grade_answers("69 and 84", "69,84", several=True).reason == Reason.NO_BOX
