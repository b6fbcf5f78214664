"""80/20: learn only from the tokens at which the policy was least certain (arXiv:2506.01939).

Shape suffixes: _N rows (responses), _T response token positions, _M valid tokens of the batch.
"""

import math

import torch
from torch import Tensor

from scapo.algorithm.checks import require_bool, require_dims, require_finite, require_shape
from scapo.errors import ScapoError


def top_entropy_weight(entropy: Tensor, mask: Tensor, share: float = 0.2) -> Tensor:
    """Factor of the advantage: 1 for the `share` of valid tokens with the highest entropy, else 0.

    Forking tokens carry the learning; the other 80 % mostly spell out what was decided. The token mean keeps
    counting all valid tokens, as in the paper.

    Args:
        entropy: of the policy's next-token distribution (nats), (N, T), over a WHOLE rollout batch: the
            threshold is the batch's. mask: valid response tokens, (N, T).
        share: in (0, 1]; ceil(share * M) tokens are kept, among ties the first ones.

    Returns:
        float32 (N, T), 0 outside the mask.
    """
    require_dims("entropy", entropy, "NT")
    require_shape("mask", mask, tuple(entropy.shape))
    if not 0 < share <= 1:
        raise ScapoError(f"share is {share}; it must be above 0 and at most 1.")
    mask_NT = require_bool("mask", mask)
    entropy_M = entropy.detach()[mask_NT]
    require_finite("entropy", entropy_M)
    order_M = torch.sort(entropy_M, descending=True, stable=True).indices
    keep_M = torch.zeros(len(entropy_M), device=entropy.device)
    keep_M[order_M[: math.ceil(share * len(entropy_M))]] = 1.0
    return torch.zeros(entropy.shape, device=entropy.device).masked_scatter(mask_NT, keep_M)
