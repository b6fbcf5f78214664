"""Outcome advantages, augmented advantages and the schedule of lambda."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scapo.algorithm import (
    LambdaSchedule,
    NonFiniteError,
    ShapeError,
    augmented_advantage,
    outcome_advantage,
)
from scapo.errors import ScapoError


def test_one_right_of_four_by_hand():
    # mean 1/4; unbiased variance (9/16 + 3 * 1/16) / 3 = 1/4, std 1/2: A = (0.75, -0.25, -0.25, -0.25) / 0.5
    advantage = outcome_advantage(torch.tensor([1.0, 0, 0, 0]), torch.zeros(4).long())
    torch.testing.assert_close(advantage, torch.tensor([1.5, -0.5, -0.5, -0.5]), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("std", "scale"),
    [("unbiased", math.sqrt(0.5)), ("population", 0.5), ("none", 1.0)],
    ids=["unbiased", "population", "none"],
)
def test_kinds_of_std_by_hand(std, scale):
    # rewards (1, 0): deviations +-0.5; unbiased variance 0.5, population variance 0.25
    advantage = outcome_advantage(torch.tensor([1.0, 0.0]), torch.tensor([3, 3]), std=std)
    torch.testing.assert_close(advantage, torch.tensor([0.5, -0.5]) / scale, rtol=0, atol=1e-5)


def test_ragged_groups_in_any_order_equal_each_group_alone():
    reward = torch.tensor([1.0, 0, 5, 0, 1, 5, 1, 5, 0, 0, 5])
    group = torch.tensor([10, 10, -3, 7, 10, -3, 7, -3, 7, 10, -3])
    advantage = outcome_advantage(reward, group)
    for g in (10, 7):
        alone = outcome_advantage(reward[group == g], torch.zeros(int((group == g).sum())))
        assert torch.equal(advantage[group == g], alone)
    assert torch.equal(advantage[group == -3], torch.zeros(4))


@pytest.mark.parametrize("rewards", [[0.95] * 8, [0.0] * 8, [1.0] * 8, [0.1 + 0.2] * 3, [1.0]])
@pytest.mark.parametrize("std", ["unbiased", "population", "none"])
def test_equal_rewards_and_singletons_give_exact_zeros(rewards, std):
    advantage = outcome_advantage(torch.tensor(rewards), torch.zeros(len(rewards)).long(), std=std)
    assert torch.equal(advantage, torch.zeros(len(rewards)))


def test_one_zero_among_equal_rewards_stays_bounded():
    advantage = outcome_advantage(torch.tensor([0.0] + [0.95] * 7), torch.zeros(8).long())
    assert float(advantage.abs().max()) < 2.5  # at most (G - 1) / sqrt(G) = 2.47


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_reward_that_is_no_number_is_a_named_error_with_its_row(bad):
    with pytest.raises(NonFiniteError, match=r"row 2 \(1 of 4"):
        outcome_advantage(torch.tensor([1.0, 0, bad, 0]), torch.zeros(4).long())


def test_wrong_shapes_and_kinds_are_named_errors():
    with pytest.raises(ShapeError):
        outcome_advantage(torch.zeros(3), torch.zeros(4))
    with pytest.raises(ShapeError):
        outcome_advantage(torch.zeros(3, 1), torch.zeros(3))
    with pytest.raises(ScapoError, match="std"):
        outcome_advantage(torch.zeros(3), torch.zeros(3), std="biased")


ROWS = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 2)), min_size=1, max_size=12)


@settings(deadline=None)
@given(ROWS, st.randoms())
def test_row_order_does_not_matter(rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    reward, group = (torch.tensor(column) for column in zip(*rows, strict=True))
    shuffled = outcome_advantage(reward[order], group[order])
    torch.testing.assert_close(shuffled, outcome_advantage(reward, group)[order], rtol=0, atol=1e-6)


def test_augmented_advantage_by_hand():
    correction = torch.tensor([[-2.0, 0.0], [-1.0, -3.0]])
    out = augmented_advantage(torch.tensor([1.0, -1.0]), correction, 0.1)
    # 1 - 0.2, 1 + 0;  -1 - 0.1, -1 - 0.3
    torch.testing.assert_close(out, torch.tensor([[0.8, 1.0], [-1.1, -1.3]]))


def test_token_advantages_are_accepted():
    base = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = augmented_advantage(base, torch.full((2, 2), -1.0), 0.5)
    assert torch.equal(out, base - 0.5)


@pytest.mark.parametrize("shape", [(3,), (3, 4)])
def test_lambda_zero_is_exactly_the_advantage(shape):
    base = torch.randn(shape)
    base.view(-1)[0] = -0.0
    correction = torch.full((3, 4), math.nan)  # whatever the correction holds
    out = augmented_advantage(base, correction, 0.0)
    expected = base[:, None].expand(3, 4) if base.dim() == 1 else base
    assert torch.equal(out.view(torch.int32), expected.contiguous().view(torch.int32))  # bit for bit


@pytest.mark.parametrize("lam", [0.0, 0.3])
@pytest.mark.parametrize("shape", [(3,), (3, 4)])
def test_result_is_fresh_contiguous_and_without_gradient(lam, shape):
    base = torch.randn(shape, requires_grad=True)
    correction = torch.randn(3, 4, requires_grad=True)
    before = base.detach().clone(), correction.detach().clone()
    out = augmented_advantage(base, correction, lam)
    assert out.is_contiguous()
    assert not out.requires_grad
    others = out[1:].clone()
    out[0, 0] = 100.0
    assert out[0, 1] != 100.0
    assert torch.equal(out[1:], others)
    assert torch.equal(base.detach(), before[0])
    assert torch.equal(correction.detach(), before[1])


def test_bfloat16_advantages_are_augmented_in_float32():
    out = augmented_advantage(torch.tensor([1.0]).bfloat16(), torch.tensor([[-0.1]]).bfloat16(), 0.01)
    assert out.dtype is torch.float32
    assert out.item() < 1.0  # bf16 would round 1 - 0.001 back to 1


@settings(deadline=None)
@given(st.integers(0, 2**31), st.floats(0, 10))
def test_a_negative_correction_never_raises_an_advantage(seed, lam):
    generator = torch.Generator().manual_seed(seed)
    base, u = torch.randn(3, generator=generator), torch.randn(3, 5, generator=generator).clamp(max=0)
    assert bool((augmented_advantage(base, u, lam) <= base[:, None]).all())


@pytest.mark.parametrize("lam", [-0.1, math.nan, math.inf])
def test_impossible_lambdas_are_named_errors(lam):
    with pytest.raises(ScapoError, match="lambda"):
        augmented_advantage(torch.zeros(1), torch.zeros(1, 1), lam)


@pytest.mark.parametrize("shape", [(4,), (3, 5), (3, 4, 1), ()])
def test_advantages_of_another_shape_are_named_errors(shape):
    with pytest.raises(ShapeError):
        augmented_advantage(torch.zeros(shape), torch.zeros(3, 4), 0.1)


def test_lambda_holds_for_steps_one_to_n0_and_is_zero_afterwards():
    schedule = LambdaSchedule(lambda_0=0.01, n_0=120)
    assert [schedule.at(n) for n in (1, 119, 120, 121, 10**6)] == [0.01, 0.01, 0.01, 0.0, 0.0]
    assert schedule == LambdaSchedule()  # the paper's defaults
    assert LambdaSchedule(n_0=0).at(1) == 0.0


def test_impossible_schedules_are_named_errors():
    for wrong in ({"lambda_0": -1.0}, {"lambda_0": math.nan}, {"n_0": -1}):
        with pytest.raises(ScapoError):
            LambdaSchedule(**wrong)
    with pytest.raises(ScapoError, match="count from 1"):
        LambdaSchedule().at(0)
