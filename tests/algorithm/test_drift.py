"""Probability drift: hand-computed values and the properties that a wrong formula would break."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scapo.algorithm import ShapeError, probability_drift

PROBABILITIES = st.floats(min_value=1e-30, max_value=1.0)


def test_drift_is_the_relative_difference_of_the_probabilities():
    clean = torch.tensor([[0.5, 0.1, 0.3]]).log()
    perturbed = torch.tensor([[[0.25, 0.1, 0.9]], [[0.75, 0.3, 0.3]]]).log()
    # |0.5 - 0.25| / 0.375 = 2/3;  equal: 0;  0.6 / 0.6 = 1
    # |0.5 - 0.75| / 0.625 = 0.4;  0.2 / 0.2 = 1;  equal: 0
    expected = torch.tensor([[[2 / 3, 0.0, 1.0]], [[0.4, 1.0, 0.0]]])
    torch.testing.assert_close(probability_drift(clean, perturbed), expected, rtol=0, atol=1e-6)


def test_equal_log_probs_give_exactly_zero():
    clean = torch.randn(3, 5)
    assert torch.equal(probability_drift(clean, clean[None]), torch.zeros(1, 3, 5))


def test_tiny_probabilities_keep_their_relative_drift():
    # 1e-30 against 3e-30: |1 - 3| / 2 = 1, although the difference of the probabilities is 2e-30
    clean, perturbed = torch.tensor([[1e-30]]).log(), torch.tensor([[[3e-30]]]).log()
    assert probability_drift(clean, perturbed).item() == pytest.approx(1.0, abs=1e-5)


def test_impossible_tokens_stay_in_range():
    clean = torch.tensor([[-math.inf, -math.inf, -1.0, -1.0]])
    perturbed = torch.tensor([[[-math.inf, -1.0, -math.inf, -300.0]]])
    assert probability_drift(clean, perturbed).tolist() == [[[0.0, 2.0, 2.0, 2.0]]]


def test_half_precision_input_is_computed_in_float32():
    clean, perturbed = torch.tensor([[-1.0]]).bfloat16(), torch.tensor([[[-1.0625]]]).bfloat16()
    drift = probability_drift(clean, perturbed)
    assert drift.dtype is torch.float32
    assert drift.item() == pytest.approx(2 * math.tanh(0.0625 / 2), rel=1e-6)


def test_float64_stays_float64():
    assert probability_drift(torch.zeros(1, 1).double(), torch.ones(2, 1, 1).double()).dtype is torch.float64


@given(PROBABILITIES, PROBABILITIES)
def test_drift_is_symmetric_within_zero_and_two_and_the_identity_of_equation_1(p, q):
    log_p, log_q = torch.tensor([[p]]).double().log(), torch.tensor([[q]]).double().log()
    forward = probability_drift(log_p, log_q[None]).item()
    assert forward == probability_drift(log_q, log_p[None]).item()
    assert 0.0 <= forward <= 2.0
    assert forward == pytest.approx(abs(p - q) / ((p + q) / 2), abs=1e-7)


@pytest.mark.parametrize("shape", [(3, 5), (3,), (4, 3, 1), (4, 1, 5), (2, 4, 3, 5)])
def test_shapes_that_would_only_broadcast_are_refused(shape):
    with pytest.raises(ShapeError, match=r"\(3, 5\)"):
        probability_drift(torch.zeros(3, 5), torch.zeros(shape))
