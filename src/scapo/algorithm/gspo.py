"""GSPO: one importance ratio for the whole sequence (arXiv:2507.18071), in its token form.

Shape suffixes: _N rows (responses), _T response token positions.
"""

from dataclasses import dataclass

from torch import Tensor

from scapo.algorithm.clipped import clipped_loss, require_clip_range
from scapo.algorithm.ratio import TokenBatch, TokenLoss


@dataclass(frozen=True, kw_only=True)
class Gspo:
    """loss = max(-s A, -clip(s, 1 - clip_low, 1 + clip_high) A),  s_{i,t} = sg[s_i] pi_theta / sg[pi_theta].

    s_i = exp(mean over the response's valid tokens of log r) is the sequence ratio; its range is some hundred
    times narrower than a token's. The value of s_{i,t} is s_i for every token, while its gradient is the
    token's own, so that advantages may differ between tokens. No dual clip. sg: stop gradient.
    A response without valid tokens has s = 1 and no loss.
    """

    clip_low: float = 3e-4
    clip_high: float = 4e-4

    def __post_init__(self) -> None:
        require_clip_range(self.clip_low, self.clip_high)

    def token_loss(self, batch: TokenBatch) -> TokenLoss:
        """The loss of every token, (N, T)."""
        log_ratio_N1 = sequence_log_ratio(batch.log_ratio, batch.mask)[:, None]
        ratio_NT = (log_ratio_N1.detach() + batch.logp - batch.logp.detach()).exp()
        return clipped_loss(ratio_NT, batch.advantage, self.clip_low, self.clip_high)


def sequence_log_ratio(log_ratio_NT: Tensor, mask_NT: Tensor) -> Tensor:
    """Mean log-ratio over each response's valid tokens, (N,); 0 for a response without any."""
    return (log_ratio_NT * mask_NT).sum(dim=1) / mask_NT.sum(dim=1).clamp(min=1)
