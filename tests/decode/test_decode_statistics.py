import pytest

from scapo.decode.statistics import paired_outcomes, rejection_rates


def test_outcomes_of_the_paper():
    # table 5: both 98, lost 60, gained 202, neither 640 of 1,000
    plain = [1] * 98 + [1] * 60 + [0] * 202 + [0] * 640
    filtered = [1] * 98 + [0] * 60 + [1] * 202 + [0] * 640
    found = paired_outcomes(plain, filtered)
    assert [found[key] for key in ("both", "lost", "gained", "neither")] == [98, 60, 202, 640]
    assert found["accuracy_plain"] == pytest.approx(0.158)
    assert found["accuracy_filtered"] == pytest.approx(0.300)
    assert found["difference"] == pytest.approx(0.142)
    # sample variance (262/1000 - 0.142^2) * 1000/999 = 0.242078; sqrt(0.242078 / 1000) = 0.015559
    assert found["stderr"] == pytest.approx(0.015559, abs=1e-6)
    assert found["mcnemar_p"] < 1e-15


def test_mcnemar_is_the_exact_two_sided_binomial():
    # 1 lost, 4 gained: 2 (C(5,0) + C(5,1)) / 2^5 = 2 * 6 / 32 = 0.375
    assert paired_outcomes([1, 0, 0, 0, 0], [0, 1, 1, 1, 1])["mcnemar_p"] == pytest.approx(0.375)
    assert paired_outcomes([1, 0], [1, 0])["mcnemar_p"] == 1.0


def test_one_problem_has_no_standard_error():
    assert paired_outcomes([1], [0])["stderr"] is None


def test_rejections_per_response_and_per_step():
    assert rejection_rates([3, 1], [10, 30]) == {"rejections_per_response": 2.0, "rejections_per_step": 0.1}
