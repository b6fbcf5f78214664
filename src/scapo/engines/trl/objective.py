"""Objectives whose loss TRL does not have in the form needed: token mean, with an advantage per token.

TRL's own loss serves "clipped". Its GSPO spreads a response's gradient evenly over the tokens, so it knows one
advantage per response only, and its SAPO averages per response; both are `scapo.algorithm.policy_loss` here,
and so is every objective under a credit that looks at the current policy (FIPO).

Shape suffixes: _B rows of one micro-batch, _T response tokens.
"""

from typing import Any

import torch
from torch import Tensor

from scapo.algorithm import Clipped, LossStats, policy_loss
from scapo.algorithm.objective import Objective, Reduction, make_objective
from scapo.engines.methods import plain_constants
from scapo.errors import ScapoError

UNTOUCHED = {
    "beta": 0.0,
    "entropy_coef": 0.0,
    "use_adaptive_entropy": False,
    "top_entropy_quantile": 1.0,
    "off_policy_mask_threshold": None,
}
"""Terms of TRL's loss that ours does not have, at the values that switch them off."""


def chosen_objective(args: Any) -> Objective:
    """The objective of a run with its constants. "clipped" takes them from TRL's own fields."""
    if args.objective == "clipped":
        return Clipped(clip_low=args.epsilon, clip_high=args.epsilon_high, dual_clip=args.delta)
    try:
        return make_objective(args.objective, **plain_constants(args.objective_constants))
    except TypeError as error:
        raise ScapoError(f"objective_constants does not fit objective {args.objective!r}: {error}.") from None


def check_own_loss(args: Any) -> None:
    """Refuse settings that only TRL's loss would obey, rather than ignore them."""
    for name, off in UNTOUCHED.items():
        if getattr(args, name) != off:
            raise ScapoError(
                f"{name} is {getattr(args, name)!r}, which objective {args.objective!r} with credit "
                f"{args.credit!r} does not have. Leave it at {off!r}, or use objective 'clipped' with another "
                "credit."
            )


def own_loss(trainer: Any, model: Any, inputs: dict[str, Any], objective: Objective) -> Tensor:
    """The loss of a micro-batch by our `policy_loss`, reduced and scaled as TRL's `loss_type` says."""
    logp_BT, entropy_BT = logprobs_and_entropies(trainer, model, inputs)
    old_BT = inputs.get("old_per_token_logps")
    old_BT = logp_BT.detach() if old_BT is None else old_BT
    mask_BT = inputs["completion_mask"].bool()
    if "tool_mask" in inputs:
        mask_BT = mask_BT & inputs["tool_mask"].bool()
    advantage = inputs["advantages"]
    if "importance_sampling_ratio" in inputs:  # vLLM's correction is a positive factor, as an advantage is
        advantage = per_token(advantage) * inputs["importance_sampling_ratio"]
    reduction, denominator = reduced_as_trl(trainer, inputs, mask_BT)
    advantage, mask_BT = trainer.credit.at_loss(advantage, logp_BT.detach(), old_BT, mask_BT)
    loss, stats = policy_loss(
        objective, logp_BT, old_BT, advantage, mask_BT, reduction=reduction, denominator=denominator
    )
    _record(trainer, stats, (entropy_BT * mask_BT).sum())
    return loss


def per_token(advantage: Tensor) -> Tensor:
    """(B,) as (B, 1), to be multiplied by something per token; (B, T) as it is."""
    return advantage[:, None] if advantage.dim() == 1 else advantage


def logprobs_and_entropies(
    trainer: Any, model: Any, batch: dict[str, Any], batch_size: int | None = None
) -> tuple[Tensor, Tensor]:
    """Log-probs (with gradient) and entropies (nats, without) of the response tokens, by TRL's own pass."""
    logp_BT, entropy_BT, _ = trainer._get_per_token_logps_and_entropies(
        model,
        torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1),
        torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1),
        batch["completion_ids"].size(1),
        batch_size,
        compute_entropy=True,
    )
    return logp_BT, entropy_BT.detach()


def reduced_as_trl(trainer: Any, inputs: dict[str, Any], mask_BT: Tensor) -> tuple[Reduction, float | Tensor]:
    """How `loss_type` averages, and the count to divide by: gradients of the micro-batches are added up.

    "dapo": the tokens of the rollout batch / updates per rollout. DDP averages over processes, so a process
    divides by its share.
    """
    args, passes = trainer.args, trainer.current_gradient_accumulation_steps
    rows = len(mask_BT) * passes
    if args.loss_type == "dapo":
        tokens = inputs["num_items_in_batch"].clamp(min=1.0) / trainer.accelerator.num_processes
        return "token_mean", tokens * passes / args.steps_per_generation
    if args.loss_type == "bnpo":
        return "token_mean", mask_BT.sum().clamp(min=1) * passes
    if args.loss_type == "grpo":
        return "sequence_mean", rows
    return "constant", rows * args.max_completion_length


def _record(trainer: Any, stats: LossStats, entropy_sum: Tensor) -> None:
    """Entropy and clip shares over the tokens of all processes, under TRL's names."""
    shares = torch.stack([stats.clip_low, stats.clip_high]).float() * stats.tokens
    sums = trainer.accelerator.reduce(
        torch.cat([shares, entropy_sum.float()[None], stats.tokens.float()[None]]), reduction="sum"
    )
    low, high, entropy = (sums[:3] / sums[3].clamp(min=1)).tolist()
    metrics = trainer._metrics["train"]
    metrics["entropy"].append(entropy)
    metrics["clip_ratio/low_mean"].append(low)
    metrics["clip_ratio/high_mean"].append(high)
