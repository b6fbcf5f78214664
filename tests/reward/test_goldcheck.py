"""Data and prompt are checked against the reward before anything runs."""

import time

import pytest

from scapo.errors import ScapoError
from scapo.problems import load_problems, prompt_text
from scapo.reward import check_prompt, gold_problems
from scapo.reward.goldcheck import only_as_written

SOLUTION = (
    "To solve this, let $x$ be the number of apples. We know that $3x + 4 = 19$, hence $3x = 15$ and therefore $x = 5$. "
    "Since each apple costs two dollars, the total is $2 \\cdot 5 = 10$ dollars. Adding the fixed fee of three dollars "
    "we obtain thirteen dollars in total, which is the amount that was asked for: $\\boxed{13}$."
)


def test_golds_that_can_be_verified_have_no_problem():
    assert gold_problems(["7", r"\frac{1}{2}", "(1, 2)", r"\text{east}", "D", "7"]) == [None] * 6


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        (SOLUTION, "looks like a solution"),
        ("see figure", "phrase"),
        ("", "empty"),
        (r"\frac{1}{2", "braces"),
        ("\x0crac{1}{2}", "control character"),
    ],
)
def test_other_golds_are_refused_with_a_sentence(gold, said):
    (problem,) = gold_problems([gold])
    assert said in problem
    assert problem.endswith(".")


def test_refused_golds_are_listed_by_the_loader(tmp_path):
    path = tmp_path / "numina.csv"
    path.write_text(f'id,problem,answer\na,What is 2+2?,4\nb,What?,"{SOLUTION}"\n')
    loaded = load_problems(path, check=gold_problems)
    assert [problem.id for problem in loaded.problems] == ["a"]
    assert [(refusal.row, refusal.id) for refusal in loaded.refused] == [(2, "b")]
    assert loaded.counts["refused"] == 1


def test_seventeen_thousand_integers_are_checked_in_seconds():
    start = time.process_time()
    assert not any(gold_problems([str(n) for n in range(17_000)]))
    assert time.process_time() - start < 5


def test_golds_that_algebra_cannot_read_are_told_apart():
    assert only_as_written([r"\frac{1}{2} \max A + 3", r"\frac{n}{2}", "7", "k"]) == [
        True,
        False,
        False,
        False,
    ]


def test_the_papers_prompt_passes():
    check_prompt(prompt_text("What is 1 + 1?"))
    check_prompt(prompt_text('The sign says "Answer: 5". What is 1 + 1?'))


@pytest.mark.parametrize(
    "prompt",
    [
        'What is 1 + 1?\n\nRemember to put your answer on its own line after "Answer:".',
        "What is 1 + 1?",
        r"Compute the \boxed{} number." + '\nThe last line should be of the form "Answer: X".',
    ],
)
def test_a_prompt_that_asks_for_another_form_stops_the_run(prompt):
    with pytest.raises(ScapoError, match="boxed"):
        check_prompt(prompt)
