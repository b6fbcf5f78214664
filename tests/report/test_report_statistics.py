"""Means, errors and differences against values worked out by hand."""

import math

import pytest

from scapo.report.statistics import (
    Estimate,
    clustered_mean,
    mean_of_units,
    moving_average,
    paired_difference,
    unpaired_difference,
)

T_3 = 3.182446305284263  # 97.5 % point of Student's t with 3 degrees of freedom (table)


def test_samples_of_one_problem_count_as_one_unit():
    # Problem means 1, 0.5, 0.5, 0: mean 0.5; squared deviations 0.25 + 0 + 0 + 0.25 = 0.5;
    # variance 0.5 / 3; SE = sqrt(0.5 / 3 / 4) = 0.2041. By samples it would be sqrt(2 / 7 / 8) = 0.189.
    scores = {"a": [1.0, 1.0], "b": [1.0, 0.0], "c": [0.0, 1.0], "d": [0.0, 0.0]}
    found = clustered_mean(scores)
    assert found.mean == 0.5
    assert found.stderr == pytest.approx(math.sqrt(0.5 / 12))
    assert (found.units, found.unit) == (4, "problems")
    low, high = found.interval()
    assert (low, high) == pytest.approx((0.5 - T_3 * math.sqrt(0.5 / 12), 0.5 + T_3 * math.sqrt(0.5 / 12)))


def test_the_mean_weighs_problems_equally_when_sample_counts_differ():
    assert clustered_mean({"a": [1.0], "b": [0.0, 0.0, 0.0]}).mean == 0.5


def test_pairing_uses_only_shared_problems_and_their_differences():
    # Shared a, b: differences 0.5 - 0 = 0.5 and 1 - 1 = 0; mean 0.25, SE = sqrt(0.125 / 2) = 0.25.
    ours = {"a": [1.0, 0.0], "b": [1.0, 1.0], "only ours": [0.0]}
    theirs = {"a": [0.0], "b": [1.0], "only theirs": [1.0]}
    found = paired_difference(ours, theirs)
    assert (found.mean, found.stderr, found.units) == (0.25, pytest.approx(0.25), 2)


def test_pairing_sees_a_gain_that_independent_means_hide():
    # Every problem gains exactly 0.1 (and a little noise) although problems range from 0 to 0.9.
    theirs = {str(i): [i / 10] for i in range(10)}
    ours = {str(i): [i / 10 + 0.1 + 0.001 * (i % 2)] for i in range(10)}
    assert paired_difference(ours, theirs).verdict == "higher"
    assert paired_difference(theirs, ours).verdict == "lower"
    assert unpaired_difference(clustered_mean(ours), clustered_mean(theirs)).verdict == "noise"


def test_nothing_shared_gives_no_difference():
    assert paired_difference({"a": [1.0]}, {"b": [1.0]}) is None


def test_one_unit_has_no_error_and_no_verdict():
    found = mean_of_units([0.4], "seeds")
    assert found == Estimate(0.4, None, 1, "seeds")
    assert (found.interval(), found.verdict) == (None, "unknown")


@pytest.mark.parametrize(("units", "verdict"), [(2, "unknown"), (5, "unknown"), (6, "higher")])
def test_few_units_that_all_moved_alike_prove_nothing(units, verdict):
    assert mean_of_units([0.1] * units, "problems").verdict == verdict


def test_no_difference_at_all_is_noise_not_a_finding():
    assert mean_of_units([0.0, 0.0, 0.0], "problems").verdict == "noise"


def test_independent_errors_add_in_squares_and_the_smaller_count_rules():
    found = unpaired_difference(Estimate(0.7, 0.03, 50, "problems"), Estimate(0.6, 0.04, 9, "problems"))
    assert (found.mean, found.stderr, found.units) == (pytest.approx(0.1), pytest.approx(0.05), 9)


def test_moving_average_shrinks_at_the_ends():
    assert moving_average([0.0, 3.0, 6.0, 9.0], 3) == [1.5, 3.0, 6.0, 7.5]
    assert moving_average([1.0, 2.0], 1) == [1.0, 2.0]
