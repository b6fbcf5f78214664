"""Values and gradients equal those of verl's own policy losses and group advantage, at equal settings."""

import importlib.util

import numpy as np
import pytest
import torch

from scapo.algorithm import Clipped, outcome_advantage, policy_loss

pytestmark = [
    pytest.mark.verl,
    pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="the verl extra is not installed"),
]

ROWS, TOKENS = 6, 7
CASES = {
    "vanilla": (
        Clipped(dual_clip=3.0),
        {"clip_ratio_low": 0.2, "clip_ratio_high": 0.28, "clip_ratio_c": 3.0},
    ),
    "gspo": ("gspo", {"clip_ratio_low": 3e-4, "clip_ratio_high": 4e-4}),
    "sapo": ("sapo", {"tau_pos": 1.0, "tau_neg": 1.05}),
}
MODES = {"token-mean": "token_mean", "seq-mean-token-mean": "sequence_mean"}


def their_loss(name, mode, settings, logp, old, advantage, mask):
    from verl.trainer.ppo.core_algos import get_policy_loss_fn
    from verl.workers.config import ActorConfig

    config = ActorConfig(
        strategy="fsdp", rollout_n=1, ppo_mini_batch_size=ROWS, ppo_micro_batch_size_per_gpu=ROWS, **settings
    )
    return get_policy_loss_fn(name)(
        old_log_prob=old,
        log_prob=logp,
        advantages=advantage,
        response_mask=mask.float(),
        loss_agg_mode=mode,
        config=config,
    )[0]


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in CASES for mode in MODES if (name, mode) != ("sapo", "token-mean")],
)
@pytest.mark.parametrize("scale", [0.0, 2e-4, 0.3, 2.0])
def test_loss_and_gradient_equal_verl(name, mode, scale):
    objective, settings = CASES[name]
    generator = torch.Generator().manual_seed(0)
    logp = (torch.randn(ROWS, TOKENS, generator=generator) - 3).requires_grad_()
    shape = (ROWS, 1) if name == "gspo" and scale > 0.1 else (ROWS, TOKENS)
    spread = 1e-3 if name == "gspo" and scale > 0.1 else scale
    old = logp.detach() + spread * torch.randn(shape, generator=generator)
    advantage = torch.randn(ROWS, TOKENS, generator=generator)
    mask = torch.arange(TOKENS) < torch.tensor([7, 1, 4, 0, 2, 6])[:, None]

    theirs = their_loss(name, mode, settings, logp, old, advantage, mask)
    ours, _ = policy_loss(objective, logp, old, advantage, mask, reduction=MODES[mode])
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)
    mine, reference = (torch.autograd.grad(loss, logp)[0] for loss in (ours, theirs))
    torch.testing.assert_close(mine, reference, rtol=1e-5, atol=1e-7)
    assert float(reference.abs().sum()) > 0


@pytest.mark.parametrize("std", ["unbiased", "none"])
def test_group_advantages_equal_verl(std):
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    reward = torch.tensor([1.0, 0, 0, 1, 0, 1, 1, 0, 0])
    group = torch.tensor([4, 4, 4, 4, 2, 2, 2, 9, 9])
    scores = torch.zeros(9, 3)
    scores[:, 1] = reward
    theirs, _ = compute_grpo_outcome_advantage(
        token_level_rewards=scores,
        response_mask=torch.ones(9, 3),
        index=np.array(group.tolist()),
        norm_adv_by_std_in_grpo=std == "unbiased",
    )
    torch.testing.assert_close(outcome_advantage(reward, group, std=std), theirs[:, 0], rtol=1e-5, atol=1e-6)
