"""Statistics of sampled answers: hand-computed values, refusals, properties."""

from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapo.errors import ScapoError
from scapo.evaluate import TooFewSamples, paired_difference, pass_at_k, pass_curve
from scapo.evaluate.statistics import accuracy, average_at_k, average_of, estimate, powers_of_two


def test_accuracy_is_the_mean_of_problem_means_with_the_error_between_problems():
    one = accuracy({"a": [1, 1, 0, 0], "b": [1, 0, 0, 0]})
    assert one.value == pytest.approx(0.375)  # (0.5 + 0.25) / 2
    assert one.stderr == pytest.approx(0.125)  # sd(0.5, 0.25; ddof 1) = 0.1768; / sqrt(2)
    assert one.problems == 2


def test_samples_of_one_problem_do_not_shrink_the_error():
    few = accuracy({"a": [1], "b": [0], "c": [0]})
    many = accuracy({"a": [1] * 16, "b": [0] * 16, "c": [0] * 16})
    assert few == many


def test_an_absent_sample_is_not_counted_as_zero():
    assert accuracy({"a": [1, 1], "b": [1]}).value == 1.0


def test_one_problem_has_no_standard_error():
    assert accuracy({"a": [1, 0]}).stderr is None
    assert estimate([0.5]).interval is None


def test_no_problem_is_refused():
    with pytest.raises(ScapoError, match="No problem"):
        accuracy({})


def test_average_at_k_uses_k_samples_and_refuses_more_than_there_are():
    scores = {"a": [1, 0, 0, 0], "b": [1, 1, 0, 0]}
    assert average_at_k(scores, 2).value == pytest.approx(0.75)
    with pytest.raises(TooFewSamples, match="avg@8 needs 8 samples"):
        average_at_k(scores, 8)


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [(4, 1, 4, 1.0), (4, 1, 1, 0.25), (4, 1, 2, 0.5), (4, 0, 4, 0.0), (4, 4, 1, 1.0), (5, 2, 3, 0.9)],
)
def test_pass_at_k_by_hand(n, c, k, expected):
    assert pass_at_k(n, c, k) == pytest.approx(expected)


def test_pass_at_k_with_n_equal_k_is_any_correct():
    assert [pass_at_k(128, c, 128) for c in (0, 1, 128)] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(("n", "c", "k"), [(2, 0, 5), (2, 2, 5), (0, 0, 1)])
def test_pass_at_k_beyond_the_samples_is_refused(n, c, k):
    with pytest.raises(ValueError, match=f"pass@{k} needs"):
        pass_at_k(n, c, k)
    with pytest.raises(ScapoError):
        pass_at_k(n, c, k)


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (4, -1, 1), (4, 1, 0)])
def test_impossible_counts_are_refused(n, c, k):
    with pytest.raises(ValueError):  # noqa: PT011 (the text differs with the cause)
        pass_at_k(n, c, k)


@given(st.integers(1, 9), st.data())
def test_pass_at_k_equals_counting_all_subsets(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    subsets = list(combinations([1] * c + [0] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@given(st.integers(1, 3000), st.data())
def test_pass_at_k_is_exact_for_large_counts(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    exact = 1 - comb(n - c, k) / comb(n, k) if comb(n - c, k) else 1.0
    assert pass_at_k(n, c, k) == pytest.approx(exact, abs=1e-9)


def test_pass_curve_averages_problems_and_never_falls():
    curve = pass_curve({"a": [1, 0, 0, 0], "b": [0, 0, 0, 0]}, [1, 2, 4])
    assert [curve[k].value for k in (1, 2, 4)] == pytest.approx([0.125, 0.25, 0.5])
    low, high = curve[4].interval
    assert low == 0.0  # 0.5 - 1.96 * 0.5 is below 0
    assert high == 1.0


def test_pass_curve_is_refused_where_one_problem_has_too_few_samples():
    with pytest.raises(TooFewSamples):
        pass_curve({"a": [1, 0, 0, 0], "b": [0, 0]}, [4])


def test_powers_of_two_end_with_n():
    assert powers_of_two(1) == [1]
    assert powers_of_two(16) == [1, 2, 4, 8, 16]
    assert powers_of_two(24) == [1, 2, 4, 8, 16, 24]


def test_average_over_sets_is_unweighted():
    one = average_of([estimate([0.0, 1.0]), estimate([0.5] * 10)])
    assert one.value == pytest.approx(0.5)
    assert one.stderr == pytest.approx(sqrt(0.5**2 + 0) / 2)


def test_paired_difference_by_hand():
    a = {"p": [0, 0], "q": [1, 0], "r": [1, 1], "only a": [1, 1]}
    b = {"p": [1, 0], "q": [1, 1], "r": [1, 1], "only b": [0, 0]}
    paired = paired_difference(a, b)
    assert (paired.problems, paired.better, paired.worse) == (3, 2, 0)
    assert paired.difference == pytest.approx(1 / 3)  # (0.5 + 0.5 + 0) / 3
    assert paired.stderr == pytest.approx(1 / 6)  # sd = 0.28868; / sqrt(3)
    half = 4.30265273 / 6  # t(2, 97.5 %)
    assert (paired.low, paired.high) == pytest.approx((1 / 3 - half, 1 / 3 + half))
    assert paired.p_value == pytest.approx(0.18350342)  # t = 2 with 2 degrees of freedom


def test_paired_interval_is_tighter_than_two_separate_errors_when_problems_differ_in_difficulty():
    rng = np.random.default_rng(0)
    hard = rng.random(200)
    a = {str(i): (rng.random(16) < p).astype(float) for i, p in enumerate(hard)}
    b = {str(i): (rng.random(16) < p).astype(float) for i, p in enumerate(hard)}
    separate = sqrt(accuracy(a).stderr ** 2 + accuracy(b).stderr ** 2)
    assert paired_difference(a, b).stderr < separate / 2


def test_paired_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        difficulty = rng.random(30)
        a = {str(i): (rng.random(4) < p).astype(float) for i, p in enumerate(difficulty)}
        b = {str(i): (rng.random(4) < p).astype(float) for i, p in enumerate(difficulty)}
        paired = paired_difference(a, b)
        covered += paired.low <= 0 <= paired.high
    assert 0.90 <= covered / 300 <= 0.99


def test_equal_runs_differ_by_nothing():
    paired = paired_difference({"a": [1], "b": [0]}, {"a": [1], "b": [0]})
    assert (paired.difference, paired.stderr, paired.p_value) == (0, 0, 1)


def test_runs_without_a_shared_problem_are_refused():
    with pytest.raises(ScapoError, match="share no problem"):
        paired_difference({"a": [1]}, {"b": [1]})
