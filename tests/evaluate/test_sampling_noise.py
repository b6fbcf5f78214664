"""Seeds and draws: reproducible, distinct, independent of the batch."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scapo.sampling.noise import RowNoise, next_seed, nucleus, pick, sample_seed


def test_seeds_are_a_pure_function_and_distinct_within_a_problem():
    seeds = [sample_seed(0, "aime_2024", "I-1", n) for n in range(128)]
    assert seeds == [sample_seed(0, "aime_2024", "I-1", n) for n in range(128)]
    assert len(set(seeds)) == 128
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_seeds_differ_between_problems_sets_and_run_seeds():
    base = sample_seed(0, "a", "p", 0)
    assert (
        len({base, sample_seed(1, "a", "p", 0), sample_seed(0, "b", "p", 0), sample_seed(0, "a", "q", 0)})
        == 4
    )


def test_samples_of_a_problem_take_consecutive_seeds():
    first = sample_seed(3, "a", "p", 0)
    assert [next_seed(first, n) for n in range(5)] == [sample_seed(3, "a", "p", n) for n in range(5)]
    assert next_seed(2**31 - 1, 1) == 0


def test_noise_is_one_stream_across_its_blocks():
    noise, expected = RowNoise(7), np.random.default_rng(7).random(600)
    assert [noise.draw() for _ in range(600)] == list(expected)


def test_nucleus_keeps_the_fewest_tokens_that_reach_the_mass():
    probs = torch.tensor([[0.1, 0.5, 0.3, 0.1], [0.25, 0.25, 0.25, 0.25]])
    kept = nucleus(probs, 0.75)
    # row 1: 0.5 + 0.3 reaches 0.75; row 2: three of four equal tokens would do, equal ones stay together
    assert torch.allclose(kept, torch.tensor([[0, 0.5, 0.3, 0], [0.25] * 4]))


def test_nucleus_always_keeps_the_mode():
    assert torch.allclose(nucleus(torch.tensor([[0.6, 0.4]]), 1e-9), torch.tensor([[0.6, 0]]))


@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.5, 0.9, 0.99]))
def test_nucleus_by_the_short_list_equals_a_full_sort(seed, top_p):
    logits = torch.randn(3, 200, generator=torch.Generator().manual_seed(seed)) * 3
    probs = torch.softmax(logits, -1)
    for row, kept in zip(probs, nucleus(probs, top_p), strict=True):
        values, order = row.sort(descending=True)
        needed = order[: int((values.cumsum(-1) - values < top_p).sum())]
        assert set(kept.nonzero().flatten().tolist()) == set(needed.tolist())


def test_a_draw_is_the_inverse_of_the_distribution_function():
    logits = torch.log(torch.tensor([[0.2, 0.5, 0.3]])).expand(5, 3)
    uniform = torch.tensor([0.0, 0.19, 0.21, 0.69, 0.71], dtype=torch.float64)
    assert pick(logits, uniform, 1.0, 1.0).tolist() == [0, 0, 1, 1, 2]


def test_draws_follow_temperature_and_nucleus():
    logits = torch.log(torch.tensor([0.1, 0.4, 0.3, 0.2])).expand(20_000, 4)
    uniform = torch.from_numpy(np.random.default_rng(0).random(20_000))
    counts = torch.bincount(pick(logits, uniform, 0.5, 0.9), minlength=4) / 20_000
    squared = torch.tensor([0.01, 0.16, 0.09, 0.04]) / 0.30  # p^(1/0.5), then 0.53 + 0.30 + 0.13 > 0.9
    expected = torch.tensor([0, *squared[1:]]) / squared[1:].sum()
    assert torch.allclose(counts, expected, atol=0.012)


def test_temperature_zero_takes_the_mode_whatever_the_noise():
    assert pick(torch.tensor([[1.0, 3.0, 2.0]]), torch.tensor([0.999]), 0.0, 0.9).tolist() == [1]


def test_a_draw_never_lands_on_a_token_of_no_probability():
    logits = torch.tensor([[0.0, 0.0, -torch.inf]])
    almost_one = torch.tensor([np.nextafter(1.0, 0.0)], dtype=torch.float64)
    assert pick(logits, almost_one, 1.0, 1.0).tolist() == [1]


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_logits_that_are_no_numbers_raise(bad):
    with pytest.raises(FloatingPointError, match="not finite"):
        pick(torch.tensor([[0.0, bad]]), torch.tensor([0.5]), 1.0, 1.0)
