"""Importance ratios and the pieces that every objective shares.

Shape suffixes: _N rows (responses), _T response token positions.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from scapo.algorithm.checks import (
    ShapeError,
    at_least_float32,
    require_bool,
    require_dims,
    require_finite,
    require_shape,
)

LOG_RATIO_LIMIT = 20.0
"""Log-ratios are clamped to +-20 before exp: e^20 = 4.9e8 is finite, and far beyond any clip range."""


@dataclass(frozen=True, kw_only=True)
class TokenBatch:
    """Checked inputs of an objective, (N, T), float32 or better; 0 outside the mask, whatever was there."""

    logp: Tensor
    log_ratio: Tensor
    advantage: Tensor
    mask: Tensor

    @classmethod
    def of(cls, logp: Tensor, old_logp: Tensor, advantage: Tensor, mask: Tensor) -> "TokenBatch":
        """Check shapes, blank padding (NaN there can't leak, not even into gradients), and clamp log-ratios.

        logp: log-probs (nats) under the policy in training, (N, T), with gradient. old_logp: under the
        rollout policy, (N, T). advantage: (N,) or (N, T), taken as constant. mask: valid tokens, (N, T).
        """
        require_dims("logp", logp, "NT")
        require_shape("old_logp", old_logp, tuple(logp.shape))
        require_shape("mask", mask, tuple(logp.shape))
        mask = require_bool("mask", mask)
        if advantage.dim() not in (1, 2) or advantage.shape != logp.shape[: advantage.dim()]:
            raise ShapeError(
                f"`advantage` has shape {tuple(advantage.shape)}, but (N,) or (N, T) of the log-probs' shape "
                f"{tuple(logp.shape)} is needed."
            )
        advantage = at_least_float32(advantage.detach())
        advantage_NT = advantage[:, None].expand_as(logp) if advantage.dim() == 1 else advantage
        logp_NT = torch.where(mask, at_least_float32(logp), 0.0)
        old_NT = torch.where(mask, at_least_float32(old_logp.detach()), 0.0)
        advantage_NT = torch.where(mask, advantage_NT, 0.0)
        for name, values_NT in (("logp", logp_NT), ("old_logp", old_NT), ("advantage", advantage_NT)):
            require_finite(name, values_NT)
        log_ratio_NT = (logp_NT - old_NT).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
        return cls(logp=logp_NT, log_ratio=log_ratio_NT, advantage=advantage_NT, mask=mask)


@dataclass(frozen=True, kw_only=True)
class TokenLoss:
    """What an objective makes of a batch: the loss of each token, and which tokens its bounds held back.

    loss (N, T) with gradient. clipped_low, clipped_high, clipped_dual: bool (N, T), or None where an
    objective has no such bound.
    """

    loss: Tensor
    clipped_low: Tensor | None = None
    clipped_high: Tensor | None = None
    clipped_dual: Tensor | None = None
