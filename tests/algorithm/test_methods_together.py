"""Relations between methods, on a small policy with real gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scapo.algorithm import (
    METHODS,
    Clipped,
    augmented_advantage,
    future_kl_weight,
    group_stability,
    method,
    outcome_advantage,
    policy_loss,
    selected_logprobs,
    semifactual_correction,
)
from scapo.errors import ScapoError

N, T, V, H = 8, 6, 11, 5


class Rollouts:
    """Responses of two prompt groups under a tiny policy: hidden states are fixed, the head is trained."""

    def __init__(self, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.hidden = torch.randn(N, T, H, generator=generator)
        self.weight = torch.randn(V, H, generator=generator, requires_grad=True)
        self.ids = torch.randint(0, V, (N, T), generator=generator)
        self.mask = torch.arange(T) < torch.randint(1, T + 1, (N,), generator=generator)[:, None]
        self.group = torch.tensor([0, 1] * 4)
        reward = torch.tensor([1.0, 0, 0, 0, 1, 1, 0, 1])
        self.advantage = outcome_advantage(reward, self.group)
        drift = 2 * torch.rand(3, N, T, generator=generator)
        self.u = group_stability(drift, self.mask, self.group)
        self.old = self.logp().detach()

    def logp(self):
        return selected_logprobs(self.hidden, self.weight, self.ids)

    def gradient(self, objective, advantage):
        loss, _ = policy_loss(objective, self.logp(), self.old, advantage, self.mask)
        return torch.autograd.grad(loss, self.weight)[0]

    def fipo(self):
        weight = future_kl_weight(self.logp(), self.old, self.advantage, self.mask)
        return self.gradient("clipped", weight * self.advantage[:, None])

    def step(self, size):
        gradient = self.gradient("clipped", self.advantage)
        with torch.no_grad():
            self.weight -= size * gradient


def test_on_the_first_step_grpo_gspo_sapo_and_fipo_have_equal_gradients_and_on_the_second_they_differ():
    batch = Rollouts()
    first = [batch.gradient(name, batch.advantage) for name in ("clipped", "gspo", "sapo")] + [batch.fipo()]
    for gradient in first[1:]:
        torch.testing.assert_close(gradient, first[0], rtol=1e-5, atol=1e-7)
    batch.step(2.0)
    second = [batch.gradient(name, batch.advantage) for name in ("clipped", "gspo", "sapo")] + [batch.fipo()]
    for i in range(4):
        for j in range(i):
            assert float((second[i] - second[j]).abs().max()) > 1e-4


@pytest.mark.parametrize("objective", ["clipped", "gspo", "sapo"])
@pytest.mark.parametrize("sign", ["negative", "all", "positive"])
@pytest.mark.parametrize("source", ["aligned", "shuffled"])
def test_lambda_zero_is_the_base_method_bit_for_bit(objective, sign, source):
    batch = Rollouts()
    batch.step(1e-3)  # small enough for GSPO's narrow range
    correction = semifactual_correction(batch.u, batch.mask, sign=sign, source=source)
    augmented = augmented_advantage(batch.advantage, correction, 0.0)
    assert torch.equal(batch.gradient(objective, augmented), batch.gradient(objective, batch.advantage))
    stronger = augmented_advantage(batch.advantage, correction, 0.1)
    assert not torch.equal(batch.gradient(objective, stronger), batch.gradient(objective, batch.advantage))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([0.01, 0.3, 3.0]), st.sampled_from([0.0, 0.3, 1.0]))
def test_lemma_d1_bounds_the_change_of_a_real_gradient(seed, lam, step):
    """||g_lambda - g_0|| <= lambda R B / 2, with R and B measured on the batch.

    The lemma takes ratios r <= R and token log-prob gradients of norm <= B with the batch, advantages and u
    fixed. Where a ratio is clipped its gradient is dropped or kept depending on the sign of A~, so the bound
    needs that no sign flips and no token's branch changes; an objective without clipping (a huge range) is
    the case that the lemma's proof treats.
    """
    batch = Rollouts(seed % 10_000)
    batch.step(step)
    correction = semifactual_correction(batch.u, batch.mask)

    def gradient(advantage):
        unclipped = Clipped(clip_low=0.999999, clip_high=1e9, dual_clip=None)
        loss, _ = policy_loss(unclipped, batch.logp(), batch.old, advantage, batch.mask)
        return torch.autograd.grad(loss, batch.weight)[0].double()

    logp = batch.logp()
    ratio = (logp.detach() - batch.old).exp()[batch.mask].max()
    norms = [
        torch.autograd.grad(logp[n, t], batch.weight, retain_graph=True)[0].norm()
        for n, t in batch.mask.nonzero().tolist()
    ]
    bound = lam * float(ratio) * float(torch.stack(norms).max()) / 2
    change = gradient(augmented_advantage(batch.advantage, correction, lam)) - gradient(batch.advantage)
    assert 0 < float(change.norm()) <= bound * (1 + 1e-6)


def test_every_named_method_names_a_known_objective():
    for name, entry in METHODS.items():
        assert entry.objective in ("clipped", "gspo", "sapo"), name
    assert method("grpo") == METHODS["grpo"]
    with pytest.raises(ScapoError, match="known are grpo"):
        method("ppo")
