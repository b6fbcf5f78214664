"""The clipped objective of PPO and GRPO, with clip-higher (DAPO, arXiv:2503.14476) and dual clip.

Shape suffixes: _N rows (responses), _T response token positions.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from scapo.algorithm.ratio import TokenBatch, TokenLoss
from scapo.errors import ScapoError


@dataclass(frozen=True, kw_only=True)
class Clipped:
    """loss = max(-r A, -clip(r, 1 - clip_low, 1 + clip_high) A), eq. 3, 10; at most -dual_clip A if A < 0.

    r = pi_theta / pi_old per token. The plain max leaves A < 0 with a large r unbounded; the dual clip
    (arXiv:1912.09729) bounds it, which matters more here because the correction makes more tokens negative.
    Defaults are the paper's. `dual_clip=None` leaves that bound out.
    """

    clip_low: float = 0.20
    clip_high: float = 0.28
    dual_clip: float | None = 10.0

    def __post_init__(self) -> None:
        require_clip_range(self.clip_low, self.clip_high)
        if self.dual_clip is not None and self.dual_clip <= 1:
            raise ScapoError(f"dual_clip is {self.dual_clip}; it must be above 1, or None for no dual clip.")

    def token_loss(self, batch: TokenBatch) -> TokenLoss:
        """The loss of every token, (N, T)."""
        ratio_NT = batch.log_ratio.exp()
        negative_NT = batch.advantage < 0
        token = clipped_loss(ratio_NT, batch.advantage, self.clip_low, self.clip_high)
        if self.dual_clip is None:
            return token
        bound_NT = -self.dual_clip * batch.advantage
        return TokenLoss(
            loss=torch.where(negative_NT, torch.minimum(token.loss, bound_NT), token.loss),
            clipped_low=token.clipped_low,
            clipped_high=token.clipped_high,
            clipped_dual=negative_NT & (ratio_NT.detach() > self.dual_clip),
        )


def clipped_loss(ratio_NT: Tensor, advantage_NT: Tensor, low: float, high: float) -> TokenLoss:
    """max(-r A, -clip(r, 1 - low, 1 + high) A) and where the clip took the gradient away."""
    bounded_NT = ratio_NT.clamp(1 - low, 1 + high)
    return TokenLoss(
        loss=torch.maximum(-ratio_NT * advantage_NT, -bounded_NT * advantage_NT),
        clipped_low=(advantage_NT < 0) & (ratio_NT.detach() < 1 - low),
        clipped_high=(advantage_NT > 0) & (ratio_NT.detach() > 1 + high),
    )


def require_clip_range(low: float, high: float) -> None:
    """Raise ScapoError unless 0 <= low < 1 and high >= 0."""
    if not (0 <= low < 1 and high >= 0):
        raise ScapoError(f"The clip range is -{low} / +{high}; 0 <= low < 1 and 0 <= high must hold.")
