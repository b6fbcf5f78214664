"""Our policy loss inside verl's actor workers: SAPO by tokens, and FIPO's weight, which follows the policy.

verl imports this file in every worker, since the loss's settings are of the class below.

Shape suffixes: _B rows of one micro-batch, _T response tokens.
"""

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from verl.trainer.ppo.core_algos import register_policy_loss
from verl.workers.config import PolicyLossConfig

from scapo.algorithm import LossStats, future_kl_weight, policy_loss, runaway_rows
from scapo.algorithm.objective import Reduction
from scapo.engines.methods import plain_constants
from scapo.engines.verl.method import MethodSettings
from scapo.engines.verl.settings import LOSS


@dataclass
class ScapoLossConfig(PolicyLossConfig):
    """verl's settings of a policy loss, with our `method` section."""

    method: dict[str, Any] = field(default_factory=dict)


@register_policy_loss(LOSS)
def scapo_loss(
    old_log_prob: Tensor,
    log_prob: Tensor,
    advantages: Tensor,
    response_mask: Tensor,
    loss_agg_mode: str = "token-mean",
    config: Any = None,
    rollout_is_weights: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """The loss of a micro-batch, in verl's signature; gradients of micro-batches and ranks add up to the whole."""
    method = MethodSettings.of(config.policy_loss.method)
    mask_BT = response_mask.bool()
    if rollout_is_weights is not None:  # a positive factor, as an advantage is
        advantages = advantages * rollout_is_weights
    reduction, denominator = reduced_as_verl(method, config.global_batch_info)
    if method.credit == "fipo":
        advantages, mask_BT = with_future(method, log_prob, old_log_prob, advantages, mask_BT)
    loss, stats = policy_loss(
        method.make_objective(),
        log_prob,
        old_log_prob,
        advantages,
        mask_BT,
        reduction=reduction,
        denominator=denominator,
    )
    return loss, _metrics(stats)


def with_future(
    method: MethodSettings, logp_BT: Tensor, old_BT: Tensor, advantage_BT: Tensor, mask_BT: Tensor
) -> tuple[Tensor, Tensor]:
    """FIPO's advantages, and the mask without responses that ran away."""
    constants = plain_constants(method.credit_constants)
    drop_runaway = bool(constants.pop("drop_runaway", True))
    logp_BT = logp_BT.detach()
    weight_BT = future_kl_weight(logp_BT, old_BT, advantage_BT, mask_BT, **constants)
    if drop_runaway:
        bound = constants.get("dual_clip", 10.0)
        mask_BT = mask_BT & ~runaway_rows(logp_BT, old_BT, advantage_BT, mask_BT, bound)[:, None]
    return advantage_BT * weight_BT, mask_BT


def reduced_as_verl(method: MethodSettings, batch_info: dict[str, Any]) -> tuple[Reduction, float]:
    """The count of the whole update, as verl states it; each rank divides by its share, since ranks average."""
    ranks = batch_info.get("dp_size") or 1
    if method.reduction == "token_mean":
        return "token_mean", batch_info["batch_num_tokens"] / ranks
    rows = batch_info["global_batch_size"] / ranks
    if method.reduction == "sequence_mean":
        return "sequence_mean", rows
    return "constant", rows * batch_info["loss_scale_factor"]


def _metrics(stats: LossStats) -> dict[str, float]:
    return {
        "actor/pg_clipfrac": float(stats.clip_low + stats.clip_high),
        "actor/pg_clipfrac_lower": float(stats.clip_dual),
        "actor/ppo_kl": float(stats.approx_kl),
    }
