"""SAPO: a soft gate in place of the clip (arXiv:2511.20347).

Shape suffixes: _N rows (responses), _T response token positions.
"""

from dataclasses import dataclass

import torch

from scapo.algorithm.ratio import TokenBatch, TokenLoss
from scapo.errors import ScapoError


@dataclass(frozen=True, kw_only=True)
class Sapo:
    """loss = -f(r) A,  f(r) = (4 / tau) sigmoid(tau (r - 1));  tau_positive where A > 0, else tau_negative.

    The gradient weight 4 p (1 - p) r with p = sigmoid(tau (r - 1)) is 1 at r = 1 and fades smoothly on both
    sides; a larger tau for negative advantages fades faster, since their gradients spread over the whole
    vocabulary. No clip, no dual clip: f is bounded by itself.
    """

    tau_positive: float = 1.0
    tau_negative: float = 1.05

    def __post_init__(self) -> None:
        if not (self.tau_positive > 0 and self.tau_negative > 0):
            raise ScapoError(f"tau is {self.tau_positive} / {self.tau_negative}; both must be above 0.")

    def token_loss(self, batch: TokenBatch) -> TokenLoss:
        """The loss of every token, (N, T)."""
        tau_NT = torch.full_like(batch.advantage, self.tau_negative)
        tau_NT = tau_NT.masked_fill(batch.advantage > 0, self.tau_positive)
        gate_NT = torch.sigmoid(tau_NT * (batch.log_ratio.exp() - 1)) * (4 / tau_NT)
        return TokenLoss(loss=-gate_NT * batch.advantage)
