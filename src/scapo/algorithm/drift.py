"""Probability drift: how much a token's probability moves when only the wording of the prompt does.

Shape suffixes: _K perturbations, _N rows (responses), _T response token positions.
"""

import torch
from torch import Tensor

from scapo.algorithm.checks import ShapeError, at_least_float32


def probability_drift(logp_clean: Tensor, logp_perturbed: Tensor) -> Tensor:
    """Relative change of each token's probability under each perturbed prompt (eq. 1, 6).

        d = 2 tanh(|log p0 - log pk| / 2)  =  |p0 - pk| / ((p0 + pk) / 2)

    Computed from log-probabilities, so that a token of probability 1e-30 keeps its relative drift.

    Args:
        logp_clean: log-probs (nats) of the response tokens under the original prompt, (N, T). Any shape works
            as long as `logp_perturbed` adds one leading dimension (for instance a whole vocabulary).
        logp_perturbed: log-probs of the *same* tokens under the K perturbed prompts, (K, N, T).

    Returns:
        Drift (K, N, T) in [0, 2], float32 or better. Exactly 0 where both log-probs are equal (also where
        both are -inf), 2 where just one token is impossible. NaN in, NaN out: mask padding afterwards.

    Raises:
        ShapeError: when the second shape is not (K,) + the first one; broadcasting is refused on purpose.
    """
    if tuple(logp_perturbed.shape[1:]) != tuple(logp_clean.shape) or logp_perturbed.dim() == 0:
        raise ShapeError(
            f"The perturbed log-probs have shape {tuple(logp_perturbed.shape)}, but (K,) + "
            f"{tuple(logp_clean.shape)}, the shape of the clean ones, is needed."
        )
    clean = at_least_float32(logp_clean)
    perturbed = at_least_float32(logp_perturbed)
    gap = (clean - perturbed).abs().masked_fill(clean == perturbed, 0.0)  # -inf against -inf is no gap
    return 2.0 * torch.tanh(gap / 2.0)
