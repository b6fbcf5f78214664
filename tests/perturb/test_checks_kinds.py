"""Checks of typo, wrap, irrelevant and counterfactual rewrites: what each lets through and refuses."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapo.perturb.checks import Refusal, check
from scapo.perturb.kinds import SEMIFACTUAL, Kind

PAPER = Path(__file__).parents[2].parent / "shared" / "data" / "scapo_paper_perturbation_examples.jsonl"
LOAN = "Kim borrows $100 from Lucy and repays \\frac{1}{2} of it. What is the least number of days, if $x>3$?"


def code(kind, original, text, answer=None):
    refusal = check(kind, original, text, answer)
    return refusal and refusal.code


@pytest.mark.skipif(not PAPER.exists(), reason="the shared data folder is not beside this checkout")
def test_all_twelve_examples_of_the_paper_pass():
    rows = [json.loads(line) for line in PAPER.read_text(encoding="utf-8").splitlines()]
    found = [check(kind, row["original"], row[kind], row["answer"]) for row in rows for kind in SEMIFACTUAL]
    assert found == [None] * 12


def test_a_refusal_reads_code_and_sentence():
    assert str(Refusal("empty", "The rewrite is empty.")) == "empty: The rewrite is empty."
    assert check(Kind.PARAPHRASE, "Find $x$.", " \n") == Refusal("empty", "The rewrite is empty.")


@pytest.mark.parametrize("kind", list(Kind))
def test_no_kind_takes_an_empty_unchanged_or_control_character_text(kind):
    assert code(kind, LOAN, "") == "empty"
    assert code(kind, LOAN, LOAN) == "unchanged"
    assert code(kind, LOAN, LOAN.replace(" ", "  ") + "\n") == "unchanged"
    assert code(kind, LOAN, LOAN.replace("\\frac", "\x0crac")) == "control_character"
    assert code(kind, LOAN, LOAN + " \u200b.") == "control_character"


@pytest.mark.parametrize(
    ("old", "new"),
    [("borrows", "borows"), ("borrows", "borrrows"), ("borrows", "borrpws"), ("borrows", "brorows")],
)
def test_each_of_the_four_slips_is_a_typo(old, new):
    assert code(Kind.TYPO_NOISE, LOAN, LOAN.replace(old, new)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LOAN.replace("borrows", "borows").replace("repays", "repyas"), "not_one_edit"),
        (LOAN.replace("borrows", "b orrows"), "edit_outside_word"),
        (LOAN.replace("Kim borrows", "Kimborrows"), "edit_outside_word"),
        (LOAN.replace("100", "10"), "edit_outside_word"),
        (LOAN.replace("$x>3$", "$x>4$"), "edit_outside_word"),
        (LOAN.replace("\\frac{1}{2}", "\\farc{1}{2}"), "edit_outside_word"),
        (LOAN.replace("What is", "What  is") + "x", "not_one_edit"),
        (LOAN.replace("Lucy", "Luccy"), "protected_word"),
        (LOAN.replace("least", "leats"), "protected_word"),
        (LOAN.replace("number", "numbr"), "protected_word"),
        (LOAN.replace("days", "dayss"), "protected_word"),
        (LOAN.replace("?", "!"), "edit_outside_word"),
        ("He bought more or less form them. How many?", "not_one_edit"),
    ],
)
def test_a_typo_elsewhere_or_twice_is_refused(text, expected):
    assert code(Kind.TYPO_NOISE, LOAN, text) == expected


def test_a_typo_that_makes_another_real_word_is_refused():
    original = "The form of the house has trees. How many trees are shown?"
    assert code(Kind.TYPO_NOISE, original, original.replace("form", "from")) == "real_word"
    assert code(Kind.TYPO_NOISE, original, original.replace("house", "horse")) == "real_word"
    assert code(Kind.TYPO_NOISE, original, original.replace("house", "huose")) is None


def test_a_negation_is_no_place_for_a_typo():
    original = "Seven boys cannot swim without help. How many can swim?"
    assert code(Kind.TYPO_NOISE, original, original.replace("cannot", "canot")) == "protected_word"
    assert code(Kind.TYPO_NOISE, original, original.replace("without", "withot")) == "protected_word"


FRAMED = "Find the sum of $a$ and $b$ if both are 3."


@pytest.mark.parametrize(
    "text",
    [
        f"During a quiz, f{FRAMED[1:]}",
        f"A teacher writes on the board: {FRAMED}",
        f"{FRAMED} (Heard on the radio.)",
        "Find the sum of $a$ and $b$, for a school quiz, if both are 3.",
        f"At camp: {FRAMED} This came up at dinner.",
    ],
)
def test_light_frames_pass(text):
    assert code(Kind.SCENARIO_WRAP, FRAMED, text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"In a class of 20 pupils: {FRAMED}", "new_number"),
        (f"During the second lesson: {FRAMED}", "new_number"),
        (f"While thinking about $c$: {FRAMED}", "new_math"),
        (f"During a quiz, remember: {FRAMED}", "forbidden_word"),
        (f"{FRAMED} Hint, add them.", "forbidden_word"),
        (f"During a quiz, {FRAMED.replace('sum', 'product')}", "original_changed"),
        (f"During a quiz, {FRAMED.replace('$a$', '$A$')}", "original_changed"),
        (f"During a quiz, {FRAMED.replace(' if both are 3', '')}", "original_changed"),
        (f"{'Once upon a time there was a king who lived in a castle on a hill and he liked to sing ' * 2}: "
         + FRAMED, "frame_too_long"),
        (FRAMED + " !!", "empty_frame"),
    ],
)  # fmt: skip
def test_frames_with_news_hints_or_changes_are_refused(text, expected):
    assert code(Kind.SCENARIO_WRAP, FRAMED, text) == expected


ASKED = "What is the area of the garden? Round to the nearest foot."


@pytest.mark.parametrize(
    "tail", ["true is true", "A rose is a rose.", "qPzmXaRt", "x7k2m9qp", "[tag: mx93q]", "[marker-a7f]"]
)
def test_distractors_of_the_three_shapes_pass(tail):
    assert code(Kind.IRRELEVANT_CONTEXT, ASKED, f"{ASKED} {tail}") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"[tag: abc] {ASKED}", "original_changed"),
        (f"{ASKED.replace('area', 'size')} [tag: abc]", "original_changed"),
        (f"{ASKED} 48151623", "new_number"),
        (f"{ASKED} [tag: 42]", "new_number"),
        (f"{ASKED} One is one.", "new_number"),
        (f"{ASKED} $x$ is $x$", "new_math"),
        (f"{ASKED} banana", "not_a_distractor"),
        (f"{ASKED} elephant", "not_a_distractor"),
        (f"{ASKED} The sky was quite blue.", "not_a_distractor"),
        (f"{ASKED} The garden is the garden.", "about_the_problem"),
        (f"{ASKED} A question is a question.", "forbidden_word"),
        (f"{ASKED} [note: abc]", "forbidden_word"),
        (f"{ASKED} Red is red. Blue is blue.", "too_long"),
        (f"{ASKED} A very big red cat is a very big red cat indeed.", "too_long"),
    ],
)
def test_other_tails_are_refused(text, expected):
    assert code(Kind.IRRELEVANT_CONTEXT, ASKED, text) == expected


COUNTED = "Tom has 3 apples and two pears. If $2x + 5 = 11$, how many has he?"


@pytest.mark.parametrize(
    "text",
    [
        COUNTED.replace("3 apples", "7 apples"),
        COUNTED.replace("two", "nine"),
        COUNTED.replace("$2x + 5", "$2x + 6"),
        COUNTED.replace("3 apples", "1 apple"),
    ],
)
def test_one_changed_quantity_is_a_counterfactual(text):
    assert code(Kind.COUNTERFACTUAL, COUNTED, text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (COUNTED.replace("3", "4").replace("two", "five"), "not_one_quantity"),
        (COUNTED.replace("two", "2"), "not_one_quantity"),
        (COUNTED.replace("apples", "plums"), "text_changed"),
        (COUNTED.replace("3 apples", "4 plums"), "text_changed"),
        (COUNTED.replace(" and two pears", ""), "text_changed"),
        (COUNTED.replace("$2x + 5 = 11$", "$2x - 5 = 11$"), "text_changed"),
    ],
)
def test_more_or_other_changes_are_no_counterfactual(text, expected):
    assert code(Kind.COUNTERFACTUAL, COUNTED, text) == expected


def test_a_leaked_answer_is_refused():
    original = "What colour is the ball that Ann drew?"
    leak = "Which colour has the crimson ball Ann drew?"
    assert code(Kind.PARAPHRASE, original, leak, "crimson") == "answer_leaked"
    assert code(Kind.SCENARIO_WRAP, original, f"In a crimson hall: {original}", "crimson") == "answer_leaked"
    assert code(Kind.SCENARIO_WRAP, original, f"In the school hall: {original}", "crimson") is None


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_changing_one_character_of_math_or_a_number_is_refused_by_every_semifactual_kind(data):
    """Whatever else a rewrite does: a text whose formula or number differs in one character never passes."""
    protected = [i for part in ("100", "\\frac{1}{2}", "$x>3$") for i in _places(LOAN, part)]
    at = data.draw(st.sampled_from(protected))
    new = data.draw(st.sampled_from("0123456789xyz+-{}\\"))
    changed = LOAN[:at] + new + LOAN[at + 1 :]
    if changed == LOAN:
        return
    candidates = {
        Kind.PARAPHRASE: changed.replace("What is", "Find").replace("?", "."),
        Kind.TYPO_NOISE: changed,
        Kind.SCENARIO_WRAP: f"Heard during a quiz: {changed}",
        Kind.IRRELEVANT_CONTEXT: f"{changed} [tag: mx93q]",
    }
    assert all(check(kind, LOAN, text) is not None for kind, text in candidates.items())


def _places(text, part):
    start = text.index(part)
    return range(start, start + len(part))
