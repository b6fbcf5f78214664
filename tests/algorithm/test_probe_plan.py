"""How rows are batched for the probe."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapo.algorithm.probe_plan import ProbeRow, check_rows, plan_batches
from scapo.errors import ScapoError


def row(clean=3, perturbed=(2, None), response=4, prompt=1):
    texts = [None if length is None else [prompt] * length for length in perturbed]
    return ProbeRow(clean=[prompt] * clean, perturbed=texts, response=[9] * response)


ROWS = st.lists(
    st.builds(
        row,
        clean=st.integers(1, 20),
        perturbed=st.tuples(st.integers(1, 30), st.none() | st.integers(1, 30)),
        response=st.integers(0, 50),
        prompt=st.integers(1, 3),
    ),
    min_size=1,
    max_size=20,
)


@settings(deadline=None)
@given(ROWS, st.integers(1, 400))
def test_every_row_with_a_response_is_scored_once_under_its_own_prompts(rows, budget):
    scored = []
    for batch in plan_batches(rows, budget):
        assert batch.width == max(len(text) for prompt in batch.prompts for text in prompt)
        for chunk in batch.chunks:
            for number, prompt in chunk:
                assert batch.prompts[prompt] == rows[number].contexts
                scored.append(number)
    assert sorted(scored) == [n for n, r in enumerate(rows) if r.response]


@settings(deadline=None)
@given(ROWS, st.integers(1, 400))
def test_forward_calls_stay_within_the_budget_unless_one_item_is_larger(rows, budget):
    for batch in plan_batches(rows, budget):
        assert len(batch.prompts) == 1 or len(batch.prompts) * batch.width <= budget
        for chunk in batch.chunks:
            columns = batch.width + max(len(rows[n].response) for n, _ in chunk)
            assert len(chunk) == 1 or len(chunk) * columns <= budget


def test_rows_of_one_prompt_share_it_and_long_responses_come_first():
    rows = [row(response=2), row(response=9, prompt=2), row(response=7), row(response=1, prompt=2)]
    (batch,) = plan_batches(rows, 1000)
    assert [len(prompt) for prompt in batch.prompts] == [3, 3]
    assert batch.chunks == (((1, 0), (2, 1), (0, 1), (3, 0)),)


def test_a_missing_perturbation_is_stood_in_for_by_the_original():
    assert row(clean=3, perturbed=(2, None)).contexts == ((1, 1, 1), (1, 1), (1, 1, 1))


def test_rows_that_do_not_fit_together_are_named_errors():
    assert check_rows([row(), row()]) == 2
    with pytest.raises(ScapoError, match="no rows"):
        check_rows([])
    with pytest.raises(ScapoError, match="row 1 has 1 perturbations and row 0 has 2"):
        check_rows([row(), row(perturbed=(2,))])
    with pytest.raises(ScapoError, match="row 1 has an empty prompt"):
        check_rows([row(), row(perturbed=(0, 2))])
