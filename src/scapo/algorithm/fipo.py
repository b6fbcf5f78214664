"""FIPO: tokens weighted by the discounted future log-ratio (arXiv:2603.19835).

Shape suffixes: _N rows (responses), _T response token positions.
"""

import math

import torch
from torch import Tensor

from scapo.algorithm.ratio import TokenBatch
from scapo.errors import ScapoError

SAFE_RANGE = (0.8, 1.0)
"""Range of the weight where a negative advantage meets a ratio above `safety`: never amplified."""


def future_kl_weight(
    logp: Tensor,
    old_logp: Tensor,
    advantage: Tensor,
    mask: Tensor,
    half_life: float = 32.0,
    clip: tuple[float, float] = (1.0, 1.2),
    safety: float = 10.0,
    dual_clip: float = 10.0,
) -> Tensor:
    """Weight f of each token's advantage, from how the policy has moved on the tokens that follow.

        delta_t = clamp(log r_t, -20, 20);   gamma = 2^(-1/half_life)
        F_t = 1[r_t <= dual_clip] delta_t + gamma F_{t+1}
        f_t = clip(exp(F_t), *clip);   where A_t < 0 and r_t > safety: clamped to [0.8, 1.0]

    A token whose continuation the update makes likelier (F > 0) is amplified. Uses the *current* policy, so f
    is 1 on the first optimiser step after a rollout and has to be taken anew at each one.

    Args:
        logp, old_logp: log-probs (nats) under the current and the rollout policy, (N, T).
        advantage: (N,) or (N, T). mask: valid response tokens, (N, T).
        half_life: tokens after which a future log-ratio counts half, > 0.
        clip, safety, dual_clip: see the formula; ratios beyond `dual_clip` leave the sum.

    Returns:
        (N, T) without gradient, to be multiplied with the advantage; 1 outside the mask.
    """
    if not half_life > 0 or not 0 < clip[0] <= clip[1]:
        raise ScapoError(f"half_life {half_life} must be above 0, and clip {clip} must be 0 < low <= high.")
    batch = TokenBatch.of(logp.detach(), old_logp, advantage, mask)
    kept_NT = batch.log_ratio.masked_fill(batch.log_ratio > math.log(dual_clip), 0.0)
    weight_NT = discounted_future(kept_NT, 2.0 ** (-1.0 / half_life)).exp().clamp(*clip)
    risky_NT = (batch.advantage < 0) & (batch.log_ratio > math.log(safety))
    weight_NT = torch.where(risky_NT, weight_NT.clamp(*SAFE_RANGE), weight_NT)
    return weight_NT.masked_fill(~batch.mask, 1.0)


def discounted_future(values_NT: Tensor, gamma: float) -> Tensor:
    """F_t = x_t + gamma F_{t+1}, (N, T). Walked from the right, so that padding zeros change no bit."""
    future_NT = values_NT.clone()
    for t in range(values_NT.shape[1] - 2, -1, -1):
        future_NT[:, t] += gamma * future_NT[:, t + 1]
    return future_NT


def runaway_rows(
    logp: Tensor, old_logp: Tensor, advantage: Tensor, mask: Tensor, dual_clip: float = 10.0
) -> Tensor:
    """Responses with more than one token on the dual clip (A < 0 and r > dual_clip), bool (N,).

    The authors' code leaves such responses out of the loss; clear their rows of the mask to do the same.
    """
    batch = TokenBatch.of(logp.detach(), old_logp, advantage, mask)
    return ((batch.advantage < 0) & (batch.log_ratio > math.log(dual_clip))).sum(dim=1) > 1
