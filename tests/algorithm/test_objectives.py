"""Objectives and reductions: hand-computed losses, float64 loops, closed-form gradients, numerical safety."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scapo.algorithm import Clipped, Gspo, NonFiniteError, Sapo, ShapeError, policy_loss
from scapo.algorithm.ratio import TokenLoss
from scapo.errors import ScapoError

NAMES = ["clipped", "gspo", "sapo"]


def clip(x, low, high):
    return min(max(x, low), high)


def loss_by_loops(name, logp, old, advantage, mask):
    """(summed loss, gradient with respect to logp) of an objective, token by token in Python floats."""
    total, gradient = 0.0, torch.zeros_like(logp)
    for n in range(len(logp)):
        places = [t for t in range(logp.shape[1]) if mask[n, t]]
        log_ratio = {t: clip(float(logp[n, t] - old[n, t]), -20, 20) for t in places}
        for t in places:
            A, r = float(advantage[n, t]), math.exp(log_ratio[t])
            if name == "gspo":
                r = math.exp(sum(log_ratio.values()) / len(places))
            if name == "sapo":
                tau = 1.0 if A > 0 else 1.05
                p = 1 / (1 + math.exp(-tau * (r - 1))) if tau * (r - 1) > -700 else 0.0
                total += -(4 / tau) * p * A
                gradient[n, t] = -4 * p * (1 - p) * r * A
                continue
            low, high = (1 - 0.2, 1 + 0.28) if name == "clipped" else (1 - 3e-4, 1 + 4e-4)
            loss, slope = -r * A, -r * A
            if -clip(r, low, high) * A > loss:
                loss, slope = -clip(r, low, high) * A, 0.0
            if name == "clipped" and A < 0 and loss > -10 * A:
                loss, slope = -10 * A, 0.0
            total, gradient[n, t] = total + loss, slope
    return total, gradient


@st.composite
def batches(draw):
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    N, T = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    old = -3 * torch.rand(N, T, generator=generator, dtype=torch.float64)
    scale = draw(st.sampled_from([1e-4, 0.3, 4.0]))
    logp = old + scale * torch.randn(N, T, generator=generator, dtype=torch.float64)
    advantage = torch.randn(N, T, generator=generator, dtype=torch.float64)
    mask = torch.rand(N, T, generator=generator) < draw(st.sampled_from([0.5, 1.0]))
    return logp, old, advantage, mask


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(batch=batches())
def test_value_and_gradient_equal_a_float64_loop(name, batch):
    logp, old, advantage, mask = batch
    logp = logp.requires_grad_()
    loss, _ = policy_loss(name, logp, old, advantage, mask, reduction="constant", denominator=1)
    expected, gradient = loss_by_loops(name, logp.detach(), old, advantage, mask)
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    torch.testing.assert_close(torch.autograd.grad(loss, logp)[0], gradient, rtol=1e-8, atol=1e-9)


def ratios(*values):
    return torch.tensor([values]).log()


def test_clipped_by_hand():
    # A = 1:  r = 1 -> -1;  r = 1.5 -> clipped at 1.28;  r = 0.5 -> not clipped, -0.5
    # A = -1: r = 0.5 -> clipped at 0.8, loss 0.8;  r = 5 -> 5;  r = 20 -> dual clip, 10
    logp = ratios(1.0, 1.5, 0.5, 0.5, 5.0, 20.0)
    advantage = torch.tensor([[1.0, 1, 1, -1, -1, -1]])
    mask = torch.ones(1, 6, dtype=torch.bool)
    loss, stats = policy_loss("clipped", logp, torch.zeros(1, 6), advantage, mask)
    assert float(loss) == pytest.approx((-1 - 1.28 - 0.5 + 0.8 + 5 + 10) / 6, rel=1e-6)
    shares = [float(x) for x in (stats.clip_low, stats.clip_high, stats.clip_dual)]
    assert shares == pytest.approx([1 / 6, 1 / 6, 1 / 6])
    assert int(stats.tokens) == 6
    # mean of r - 1 - log r
    by_hand = sum(r - 1 - math.log(r) for r in (1.0, 1.5, 0.5, 0.5, 5.0, 20.0)) / 6
    assert float(stats.approx_kl) == pytest.approx(by_hand, rel=1e-6)
    unbounded, _ = policy_loss(Clipped(dual_clip=None), logp, torch.zeros(1, 6), advantage, mask)
    assert float(unbounded) == pytest.approx((-1 - 1.28 - 0.5 + 0.8 + 5 + 20) / 6, rel=1e-6)


def test_gspo_by_hand():
    # row 0: log s = (0.0002 + 0.0004) / 2 = 0.0003: inside the range, loss -s A = -1.0003
    # row 1: log s = 0.001: above 1.0004, clipped for A = 1
    # row 2: one valid token, log s = -0.001: below 0.9997, clipped for A = -1, loss 0.9997
    logp = torch.tensor([[0.0002, 0.0004], [0.002, 0.0], [-0.001, 5.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True], [True, True], [True, False]])
    advantage = torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64)
    loss, stats = policy_loss("gspo", logp, torch.zeros(3, 2), advantage, mask)
    assert float(loss) == pytest.approx((-2 * math.exp(0.0003) - 2 * 1.0004 + 0.9997) / 5, rel=1e-9)
    assert float(stats.clip_high) == pytest.approx(2 / 5)
    assert float(stats.clip_low) == pytest.approx(1 / 5)


def test_sapo_by_hand():
    # A = 1, r = 2: f = 4 sigmoid(1) = 4 * 0.731059;   A = -1, r = 2: f = (4 / 1.05) sigmoid(1.05) = 2.821999
    logp, mask = ratios(2.0, 2.0), torch.ones(1, 2, dtype=torch.bool)
    loss, stats = policy_loss("sapo", logp, torch.zeros(1, 2), torch.tensor([[1.0, -1.0]]), mask)
    assert float(loss) == pytest.approx((-2.924234 + 2.821999) / 2, abs=2e-6)
    assert float(stats.clip_high) == 0.0


def test_reductions_by_hand():
    # r = 1 everywhere, so each token's loss is -A. Row 0 has 3 tokens, row 1 has 1, row 2 none.
    logp = torch.zeros(3, 3)
    mask = torch.tensor([[True] * 3, [True, False, False], [False] * 3])
    advantage = torch.tensor([[-1.0, -2, -3], [-10, 7, 7], [7, 7, 7]])

    def loss(**settings):
        return float(policy_loss("clipped", logp, logp, advantage, mask, **settings)[0])

    assert loss() == pytest.approx((1 + 2 + 3 + 10) / 4)
    assert loss(reduction="sequence_mean") == pytest.approx((2 + 10) / 2)  # the empty row doesn't count
    assert loss(reduction="constant", denominator=3 * 5) == pytest.approx(16 / 15)
    assert loss(denominator=8) == pytest.approx(2.0)
    assert loss(reduction="sequence_mean", denominator=torch.tensor(4)) == pytest.approx(3.0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reduction", ["token_mean", "sequence_mean", "constant"])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_micro_batches_add_up_to_the_whole_batch(name, reduction, size):
    generator = torch.Generator().manual_seed(0)
    logp = (torch.randn(8, 9, generator=generator) * 0.2 - 1).requires_grad_()
    old = logp.detach() + torch.randn(8, 9, generator=generator) * 0.2
    advantage = torch.randn(8, 9, generator=generator)
    mask = torch.arange(9) < torch.tensor([9, 1, 0, 4, 9, 7, 2, 5])[:, None]
    count = {"token_mean": mask.sum(), "sequence_mean": 7, "constant": 72.0}[reduction]

    def gradient(rows_per_call):
        total = torch.zeros_like(logp)
        for start in range(0, 8, rows_per_call):
            part = [x[start : start + rows_per_call] for x in (logp, old, advantage, mask)]
            loss, _ = policy_loss(name, *part, reduction=reduction, denominator=count)
            total += torch.autograd.grad(loss, logp)[0]
        return total

    torch.testing.assert_close(gradient(size), gradient(8), rtol=0, atol=1e-6)
    if reduction != "constant":  # without a denominator the whole batch's own count is the default
        whole, _ = policy_loss(name, logp, old, advantage, mask, reduction=reduction)
        torch.testing.assert_close(torch.autograd.grad(whole, logp)[0], gradient(8), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf, 1e30])
def test_padding_reaches_neither_loss_nor_gradient(name, garbage):
    logp, old, advantage = torch.randn(2, 3) - 2, torch.randn(2, 3) - 2, torch.randn(2, 3)
    mask = torch.tensor([[True, True, False], [True, False, False]])

    def run(fill):
        dirty = [torch.where(mask, x, fill) for x in (logp, old, advantage)]
        dirty[0].requires_grad_()
        loss, stats = policy_loss(name, *dirty, mask)
        return loss, torch.autograd.grad(loss, dirty[0])[0], stats

    clean, dirty = run(0.0), run(garbage)
    assert torch.equal(clean[0], dirty[0])
    assert torch.equal(clean[1], dirty[1])
    assert float(dirty[1][~mask].abs().sum()) == 0.0
    assert clean[2] == dirty[2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("gap", [-1e4, -30.0, 30.0, 1e4])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_log_ratios_stay_finite(name, gap, sign):
    logp = torch.full((2, 3), gap, requires_grad=True)
    loss, _ = policy_loss(name, logp, torch.zeros(2, 3), torch.tensor([sign, sign]), torch.ones(2, 3).bool())
    gradient = torch.autograd.grad(loss, logp)[0]
    assert bool(torch.isfinite(loss))
    assert bool(torch.isfinite(gradient).all())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reduction", ["token_mean", "sequence_mean"])
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (2, 0)])
def test_a_batch_without_valid_tokens_has_loss_zero(name, reduction, shape):
    logp = torch.full(shape, math.nan, requires_grad=True)
    loss, stats = policy_loss(
        name, logp, logp.detach(), torch.ones(shape[0]), torch.zeros(shape).bool(), reduction=reduction
    )
    assert float(loss.detach()) == 0.0
    assert float(torch.autograd.grad(loss, logp)[0].abs().sum()) == 0.0
    assert float(stats.clip_low) == 0.0
    assert float(policy_loss(name, logp, logp, torch.ones(shape[0]), torch.zeros(shape).bool(),
                             denominator=0).loss.detach()) == 0.0  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_one_token_responses(name):
    logp = torch.tensor([[-1.0], [-2.0]], requires_grad=True)
    loss, _ = policy_loss(name, logp, logp.detach(), torch.tensor([1.0, -0.5]), torch.ones(2, 1).bool())
    torch.testing.assert_close(torch.autograd.grad(loss, logp)[0], torch.tensor([[-0.5], [0.25]]))


@pytest.mark.parametrize("name", NAMES)
def test_row_and_token_advantages_agree_bit_for_bit(name):
    logp, old = torch.randn(3, 4), torch.randn(3, 4)
    advantage, mask = torch.randn(3), torch.rand(3, 4) < 0.8
    by_row = policy_loss(name, logp, old, advantage, mask).loss
    by_token = policy_loss(name, logp, old, advantage[:, None].expand(3, 4), mask).loss
    assert torch.equal(by_row, by_token)


def test_no_gradient_flows_into_old_log_probs_or_advantages():
    logp, old = torch.randn(2, 3, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    advantage = torch.randn(2, 3, requires_grad=True)
    policy_loss("clipped", logp, old, advantage, torch.ones(2, 3).bool()).loss.backward()
    assert logp.grad is not None
    assert old.grad is None
    assert advantage.grad is None


def test_half_precision_log_probs_are_computed_in_float32():
    logp = torch.tensor([[-1.0]]).bfloat16()
    loss, _ = policy_loss("clipped", logp, logp + 0.0625, torch.tensor([1.0]), torch.ones(1, 1).bool())
    assert loss.dtype is torch.float32
    assert float(loss) == pytest.approx(-math.exp(-0.0625), rel=1e-6)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_nan_at_a_valid_token_is_a_named_error(which):
    tensors = [torch.zeros(2, 3) for _ in range(3)]
    tensors[which][1, 2] = math.nan
    with pytest.raises(NonFiniteError, match="row 1"):
        policy_loss("clipped", *tensors, torch.ones(2, 3).bool())


def test_wrong_shapes_are_named_errors():
    good = torch.zeros(2, 3)
    for bad in ((good[:, :2], good, good, good), (good, good[:1], good, good), (good, good, good, good[0]),
                (good, good, torch.zeros(3), good), (good, good, torch.zeros(2, 1), good)):  # fmt: skip
        with pytest.raises(ShapeError):
            policy_loss("clipped", *bad[:3], bad[3].bool())


def test_unknown_names_and_constants_are_named_errors():
    batch = [torch.zeros(1, 1)] * 3 + [torch.ones(1, 1).bool()]
    with pytest.raises(ScapoError, match="known are clipped, gspo, sapo"):
        policy_loss("ppo", *batch)
    with pytest.raises(ScapoError, match="no constant tau_positive"):
        policy_loss("gspo", *batch, tau_positive=1.0)
    with pytest.raises(ScapoError, match="denominator"):
        policy_loss("clipped", *batch, reduction="constant")
    with pytest.raises(ScapoError, match="reduction"):
        policy_loss("clipped", *batch, reduction="mean")
    with pytest.raises(ScapoError, match="clip_high"):
        policy_loss(Clipped(), *batch, clip_high=0.1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Clipped(clip_low=1.0),
        lambda: Clipped(clip_high=-0.1),
        lambda: Clipped(dual_clip=1.0),
        lambda: Gspo(clip_low=-1e-4),
        lambda: Sapo(tau_positive=0.0),
    ],
)
def test_impossible_constants_are_named_errors(make):
    with pytest.raises(ScapoError):
        make()


def test_an_objective_of_one_s_own_needs_not_care_about_padding():
    class Careless:
        def token_loss(self, batch):
            return TokenLoss(loss=torch.where(batch.mask, -batch.advantage, math.nan))

    mask = torch.tensor([[True, False]])
    loss, stats = policy_loss(Careless(), torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([3.0]), mask)
    assert float(loss) == -3.0
    assert float(stats.clip_dual) == 0.0


def test_constants_by_keyword_equal_an_object():
    logp, mask = ratios(2.0, 0.3), torch.ones(1, 2).bool()
    advantage = torch.tensor([[1.0, -1.0]])
    by_name = policy_loss("clipped", logp, torch.zeros(1, 2), advantage, mask, clip_high=0.5)
    by_object = policy_loss(Clipped(clip_high=0.5), logp, torch.zeros(1, 2), advantage, mask)
    assert float(by_name.loss) == float(by_object.loss) == pytest.approx((-1.5 + 0.8) / 2)
