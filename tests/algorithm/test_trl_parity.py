"""Values and gradients equal those of TRL's own losses, driven through its `_compute_loss`."""

from types import SimpleNamespace

import pytest
import torch

from scapo.algorithm import Clipped, policy_loss

grpo_trainer = pytest.importorskip("trl.trainer.grpo_trainer", reason="the trl extra is not installed")

ROWS, TOKENS, LONGEST = 6, 7, 9


class StubTrainer(grpo_trainer.GRPOTrainer):
    """Just what `_compute_loss` reads: the log-probs are given, nothing is loaded or generated."""

    def __init__(self, logp, **settings) -> None:
        defaults = {
            "delta": None,
            "use_bias_correction_kl": False,
            "sapo_temperature_pos": 1.0,
            "sapo_temperature_neg": 1.05,
            "steps_per_generation": 1,
        }
        self.logp = logp
        self.args = SimpleNamespace(**{k: settings.pop(k, v) for k, v in defaults.items()})
        self.accelerator = SimpleNamespace(num_processes=1, gather=lambda x: x, reduce=lambda x, reduction: x)
        self.model = SimpleNamespace(training=True)
        self.current_gradient_accumulation_steps = 1
        self._metrics = {"train": grpo_trainer.defaultdict(list)}
        self.__dict__.update(
            {
                "aux_loss_enabled": False,
                "top_entropy_quantile": 1.0,
                "off_policy_mask_threshold": None,
                "importance_sampling_level": "token",
                "beta": 0.0,
                "epsilon_low": 0.2,
                "epsilon_high": 0.28,
                "loss_type": "dapo",
                "use_vllm": False,
                "vllm_importance_sampling_correction": False,
                "max_completion_length": LONGEST,
                "_entropy_bonus_enabled": False,
                **settings,
            }
        )

    def _get_per_token_logps_and_entropies(self, *_, **__):
        return self.logp, torch.zeros_like(self.logp), None

    def loss(self, old, advantage, mask):
        ids = torch.zeros(ROWS, TOKENS, dtype=torch.long)
        return self._compute_loss(
            self.model,
            {
                "prompt_ids": ids[:, :1],
                "prompt_mask": torch.ones(ROWS, 1),
                "completion_ids": ids,
                "completion_mask": mask.long(),
                "advantages": advantage,
                "old_per_token_logps": old,
                "num_items_in_batch": mask.sum(),
            },
        )


def batch(scale, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logp = (torch.randn(ROWS, TOKENS, generator=generator) - 3).requires_grad_()
    old = logp.detach() + scale * torch.randn(ROWS, TOKENS, generator=generator)
    mask = torch.arange(TOKENS) < torch.tensor([7, 1, 4, 7, 2, 6])[:, None]
    return logp, old, torch.randn(ROWS, generator=generator), mask


def assert_same(ours, theirs, logp):
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)
    mine, reference = (torch.autograd.grad(loss, logp)[0] for loss in (ours, theirs))
    torch.testing.assert_close(mine, reference, rtol=1e-5, atol=1e-7)
    assert float(reference.abs().sum()) > 0


GSPO = {"importance_sampling_level": "sequence", "epsilon_low": 3e-4, "epsilon_high": 4e-4}
CASES = {
    "clipped": (Clipped(dual_clip=None), {}, {}),
    "dual clip": (Clipped(dual_clip=3.0), {"delta": 3.0}, {}),
    "sequence mean": (Clipped(dual_clip=None), {"loss_type": "grpo"}, {"reduction": "sequence_mean"}),
    "Dr.GRPO": (
        Clipped(dual_clip=None),
        {"loss_type": "dr_grpo"},
        {"reduction": "constant", "denominator": ROWS * LONGEST},
    ),
    "GSPO": ("gspo", GSPO, {}),
    "GSPO, sequence mean": ("gspo", {**GSPO, "loss_type": "grpo"}, {"reduction": "sequence_mean"}),
    "SAPO": ("sapo", {"loss_type": "sapo"}, {"reduction": "sequence_mean"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scale", [0.0, 2e-4, 0.3, 1.5])
def test_loss_and_gradient_equal_trl(name, scale):
    objective, trl_settings, our_settings = CASES[name]
    logp, old, advantage, mask = batch(scale)
    if "sequence" in str(trl_settings) and scale > 0.1:
        old = old * 0 + logp.detach() + torch.tensor([2e-4, -1e-3, 1e-3, 0, 5e-4, -2e-4])[:, None]
    theirs = StubTrainer(logp, **trl_settings).loss(old, advantage, mask)
    ours, _ = policy_loss(objective, logp, old, advantage, mask, **our_settings)
    assert_same(ours, theirs, logp)


@pytest.mark.parametrize("name", ["clipped", "dual clip", "SAPO", "Dr.GRPO"])
def test_token_advantages_equal_trl(name):
    objective, trl_settings, our_settings = CASES[name]
    logp, old, advantage, mask = batch(0.3)
    token_advantage = advantage[:, None] + 0.1 * torch.randn(ROWS, TOKENS)
    theirs = StubTrainer(logp, **trl_settings).loss(old, token_advantage, mask)
    ours, _ = policy_loss(objective, logp, old, token_advantage, mask, **our_settings)
    assert_same(ours, theirs, logp)


def test_clip_shares_equal_trl():
    logp, old, advantage, mask = batch(0.5)
    trainer = StubTrainer(logp)
    trainer.loss(old, advantage, mask)
    _, stats = policy_loss(Clipped(dual_clip=None), logp, old, advantage, mask)
    metrics = trainer._metrics["train"]
    assert float(stats.clip_low) == pytest.approx(metrics["clip_ratio/low_mean"][0])
    assert float(stats.clip_high) == pytest.approx(metrics["clip_ratio/high_mean"][0])
    assert float(stats.clip_low) > 0
