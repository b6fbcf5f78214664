"""The policy loss: an objective by name, reduced over the update batch.

Shape suffixes: _N rows (responses), _T response token positions.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args

import torch
from torch import Tensor

from scapo.algorithm.clipped import Clipped
from scapo.algorithm.gspo import Gspo
from scapo.algorithm.ratio import TokenBatch, TokenLoss
from scapo.algorithm.sapo import Sapo
from scapo.errors import ScapoError

Reduction = Literal["token_mean", "sequence_mean", "constant"]


class Objective(Protocol):
    """A frozen dataclass of constants that turns a batch into one loss per token."""

    def token_loss(self, batch: TokenBatch) -> TokenLoss: ...


OBJECTIVES: dict[str, type[Clipped] | type[Gspo] | type[Sapo]] = {
    "clipped": Clipped,
    "gspo": Gspo,
    "sapo": Sapo,
}


@dataclass(frozen=True, kw_only=True)
class LossStats:
    """Detached numbers of one call, 0-dimensional. Shares are of the valid tokens; 0 when there are none.

    clip_low: A < 0 with the ratio under its range. clip_high: A > 0 with the ratio over it. clip_dual: A < 0
    on the dual clip. approx_kl: mean of r - 1 - log r (nats), an estimate of KL(old || new), never negative.
    """

    tokens: Tensor
    clip_low: Tensor
    clip_high: Tensor
    clip_dual: Tensor
    approx_kl: Tensor


class PolicyLoss(NamedTuple):
    """The scalar to call `backward` on, and its statistics."""

    loss: Tensor
    stats: LossStats


def policy_loss(
    objective: str | Objective,
    logp: Tensor,
    old_logp: Tensor,
    advantage: Tensor,
    mask: Tensor,
    *,
    reduction: Reduction = "token_mean",
    denominator: float | Tensor | None = None,
    **constants: Any,
) -> PolicyLoss:
    """Loss of a (micro-)batch under an objective: -J of eq. 3, 4, 10 for "clipped".

    Args:
        objective: "clipped" (GRPO, SCAPO), "gspo", "sapo", or an object such as `Clipped(clip_high=0.2)`.
        logp: log-probs (nats) of the response tokens under the policy in training, (N, T), with gradient.
        old_logp: the same under the rollout policy, (N, T).
        advantage: (N,) or (N, T); taken as constant. mask: valid response tokens, (N, T); what stands
            elsewhere in any input, NaN included, reaches neither the loss nor a gradient.
        reduction: "token_mean": sum over tokens / number of tokens (default, as the paper).
            "sequence_mean": mean over each response's tokens, then sum over responses / number of responses
            with a valid token. "constant": sum over tokens / `denominator`, a fixed number such as responses
            times the longest length allowed (Dr.GRPO, arXiv:2503.20783).
        denominator: the count to divide by. Give the count of the WHOLE update batch (all processes, all
            micro-batches) and add up the gradients: the result then doesn't depend on the micro-batch size.
            None: the count of this call. "constant" needs it.
        constants: constants of a named objective, such as clip_high=0.2.

    Returns:
        (loss, stats). Without any valid token the loss is 0 (with a gradient of zeros), not NaN.

    Raises:
        ShapeError: on wrong shapes. NonFiniteError: on NaN or infinity at a valid token. ScapoError: on an
            unknown name, constant or reduction.
    """
    batch = TokenBatch.of(logp, old_logp, advantage, mask)
    token = make_objective(objective, **constants).token_loss(batch)
    loss = _reduce(token.loss, batch.mask, reduction, denominator)
    return PolicyLoss(loss, _stats(token, batch))


def make_objective(objective: str | Objective, **constants: Any) -> Objective:
    """The objective itself: looked up by name and given its constants, or passed through."""
    if not isinstance(objective, str):
        if constants:
            raise ScapoError(f"Give {sorted(constants)} to the objective itself, or name it by a string.")
        return objective
    if objective not in OBJECTIVES:
        raise ScapoError(f"There is no objective {objective!r}; known are {', '.join(OBJECTIVES)}.")
    kind = OBJECTIVES[objective]
    unknown = sorted(set(constants) - set(kind.__dataclass_fields__))
    if unknown:
        raise ScapoError(
            f"The objective {objective!r} has no constant {', '.join(unknown)}; "
            f"it has {', '.join(kind.__dataclass_fields__)}."
        )
    return kind(**constants)


def _reduce(loss_NT: Tensor, mask_NT: Tensor, reduction: str, denominator: float | Tensor | None) -> Tensor:
    loss_NT = torch.where(mask_NT, loss_NT, 0.0)
    length_N = mask_NT.sum(dim=1)
    if reduction not in get_args(Reduction):
        raise ScapoError(f"reduction is {reduction!r}; it must be one of {', '.join(get_args(Reduction))}.")
    if reduction == "sequence_mean":
        loss_N = loss_NT.sum(dim=1) / length_N.clamp(min=1)
        return loss_N.sum() / _never_zero((length_N > 0).sum() if denominator is None else denominator)
    if reduction == "constant" and denominator is None:
        raise ScapoError("The reduction 'constant' needs a denominator: a fixed number for the whole run.")
    return loss_NT.sum() / _never_zero(length_N.sum() if denominator is None else denominator)


def _never_zero(count: float | Tensor) -> float | Tensor:
    """The count, or 1 where it is 0: an empty batch has loss 0 / 1, not 0 / 0."""
    return torch.where(count > 0, count, 1) if isinstance(count, Tensor) else count or 1


def _stats(token: TokenLoss, batch: TokenBatch) -> LossStats:
    tokens = batch.mask.sum()
    log_ratio_NT = batch.log_ratio.detach()

    def share(of_NT: Tensor | None) -> Tensor:
        total = torch.zeros_like(log_ratio_NT).sum() if of_NT is None else (of_NT & batch.mask).sum()
        return total / tokens.clamp(min=1)

    return LossStats(
        tokens=tokens,
        clip_low=share(token.clipped_low),
        clip_high=share(token.clipped_high),
        clip_dual=share(token.clipped_dual),
        approx_kl=(log_ratio_NT.expm1() - log_ratio_NT).sum() / tokens.clamp(min=1),
    )
