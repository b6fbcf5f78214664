"""FIPO's future-KL weight: hand-computed values, a float64 loop, padding."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scapo.algorithm import NonFiniteError, future_kl_weight, runaway_rows
from scapo.errors import ScapoError


def weight_by_loops(logp, old, advantage, mask, half_life, clip, safety, dual_clip):
    gamma = 2 ** (-1 / half_life)
    weight = torch.ones_like(logp)
    for n in range(logp.shape[0]):
        future = 0.0
        for t in reversed(range(logp.shape[1])):
            delta = min(max(float(logp[n, t] - old[n, t]), -20.0), 20.0) if mask[n, t] else 0.0
            ratio = math.exp(delta)
            future = (delta if ratio <= dual_clip else 0.0) + gamma * future
            if mask[n, t]:
                value = min(max(math.exp(min(future, 50.0)), clip[0]), clip[1])
                if float(advantage[n]) < 0 and ratio > safety:
                    value = min(max(value, 0.8), 1.0)
                weight[n, t] = value
    return weight


def test_by_hand():
    # half_life 1: gamma = 1/2. delta = (0.04, 0.02, 0.1)
    # F_3 = 0.1;  F_2 = 0.02 + 0.05 = 0.07;  F_1 = 0.04 + 0.035 = 0.075 (k = t is included)
    logp = torch.tensor([[0.04, 0.02, 0.1]])
    weight = future_kl_weight(logp, torch.zeros(1, 3), torch.ones(1), torch.ones(1, 3).bool(), half_life=1.0)
    expected = torch.tensor([[math.exp(0.075), math.exp(0.07), math.exp(0.1)]])
    torch.testing.assert_close(weight, expected)


def test_weights_stay_in_the_clip_range():
    logp = torch.tensor([[-1.0, 1.0]])
    weight = future_kl_weight(logp, torch.zeros(1, 2), torch.ones(1), torch.ones(1, 2).bool(), half_life=1.0)
    # F_2 = 1: e > 1.2;  F_1 = -1 + 0.5: below 1
    torch.testing.assert_close(weight, torch.tensor([[1.0, 1.2]]))


def test_ratios_beyond_the_dual_clip_leave_the_sum():
    logp = torch.tensor([[0.05, math.log(11.0)], [0.05, math.log(9.0)]])
    weight = future_kl_weight(logp, torch.zeros(2, 2), torch.ones(2), torch.ones(2, 2).bool())
    torch.testing.assert_close(weight, torch.tensor([[math.exp(0.05), 1.0], [1.2, 1.2]]))


def test_a_negative_advantage_with_a_runaway_ratio_is_not_amplified():
    # dual_clip is raised so that the ratio of 12 enters F; clip (0.5, 2) shows the range [0.8, 1.0]
    logp = torch.tensor([[math.log(12.0), -3.0], [math.log(12.0), 0.0]])
    advantage, mask = torch.tensor([-1.0, 1.0]), torch.ones(2, 2).bool()
    weight = future_kl_weight(logp, torch.zeros(2, 2), advantage, mask, clip=(0.5, 2.0), dual_clip=20.0)
    # row 0, t = 1: F = log 12 - 3 gamma = -0.4506, exp = 0.637, inside the clip, raised to 0.8
    torch.testing.assert_close(weight, torch.tensor([[0.8, 0.5], [2.0, 1.0]]))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([1.0, 32.0]), st.sampled_from([0.1, 3.0]))
def test_equals_a_float64_loop(seed, half_life, scale):
    generator = torch.Generator().manual_seed(seed)
    logp, old = (scale * torch.randn(3, 7, generator=generator, dtype=torch.float64) for _ in range(2))
    advantage = torch.randn(3, generator=generator, dtype=torch.float64)
    mask = torch.rand(3, 7, generator=generator) < 0.8
    settings_ = {"half_life": half_life, "clip": (0.7, 1.5), "safety": 4.0, "dual_clip": 10.0}
    weight = future_kl_weight(logp, old, advantage, mask, **settings_)
    torch.testing.assert_close(weight, weight_by_loops(logp, old, advantage, mask, **settings_))


def test_the_first_step_after_a_rollout_weighs_every_token_alike():
    logp, mask = torch.randn(3, 5), torch.ones(3, 5).bool()
    assert torch.equal(future_kl_weight(logp, logp, torch.randn(3), mask), torch.ones(3, 5))


def test_padding_changes_no_bit_and_no_gradient_flows():
    logp, old, mask = torch.randn(3, 5, requires_grad=True), torch.randn(3, 5), torch.rand(3, 5) < 0.7
    advantage = torch.randn(3, 5)
    weight = future_kl_weight(logp, old, advantage, mask)
    wide = [torch.nn.functional.pad(x, (0, 9), value=math.nan) for x in (logp, old, advantage)]
    padded = future_kl_weight(*wide, torch.nn.functional.pad(mask, (0, 9)))
    assert torch.equal(padded[:, :5], weight)
    assert bool((padded[:, 5:] == 1).all())
    assert not weight.requires_grad


@pytest.mark.parametrize("gap", [-1000.0, -30.0, 30.0, 1000.0])
@pytest.mark.parametrize("T", [0, 1, 300])
def test_extreme_ratios_stay_finite(gap, T):
    logp, mask = torch.full((2, T), gap), torch.ones(2, T).bool()
    weight = future_kl_weight(logp, torch.zeros(2, T), torch.ones(2), mask)
    assert weight.shape == (2, T)
    assert bool(((weight >= 1.0) & (weight <= 1.2)).all())


def test_bad_input_is_a_named_error():
    one = torch.ones(1, 1)
    with pytest.raises(NonFiniteError):
        future_kl_weight(one * math.nan, one, torch.ones(1), one.bool())
    for wrong in ({"half_life": 0.0}, {"clip": (1.2, 1.0)}, {"clip": (0.0, 1.0)}):
        with pytest.raises(ScapoError):
            future_kl_weight(one, one, torch.ones(1), one.bool(), **wrong)


def test_runaway_rows_have_more_than_one_token_on_the_dual_clip():
    logp = torch.tensor([[3.0, 3.0, 0.0], [3.0, 0.0, 3.0], [3.0, 0.0, 0.0], [3.0, 3.0, 3.0]])
    mask = torch.ones(4, 3).bool()
    mask[1, 2] = False
    rows = runaway_rows(logp, torch.zeros(4, 3), torch.tensor([-1.0, -1.0, -1.0, 1.0]), mask)
    assert rows.tolist() == [True, False, False, False]
