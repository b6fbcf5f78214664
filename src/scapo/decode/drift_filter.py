"""Which tokens d-filtered decoding masks (appendix C): the most drifting ones, up to a mass of the clean policy.

Shape suffixes: _V vocabulary, _K perturbations, _R rows; `...` stands for any leading dimensions.
"""

from collections.abc import Collection

import torch
from torch import Tensor

from scapo.algorithm import NonFiniteError, ShapeError, probability_drift
from scapo.errors import ScapoError

MASS_TOLERANCE = 1e-6
"""float32 rounding of the summed probabilities: 0.5 + 0.3 must still fit into a mass of 0.8."""
SUM_TOLERANCE = 1e-2
"""A row of half-precision probabilities sums to 1 within this; raw logits or logs don't."""


def drift_filter(probs: Tensor, drift: Tensor, eos_ids: Collection[int], mass: float = 0.8) -> Tensor:
    """True where a token is masked.

    The non-EOS tokens are walked by falling drift (ties: the lower id first) and masked until the next one
    would push the masked clean-policy mass over `mass`; there the walk stops. EOS tokens are never masked.
    So at most `mass` of the policy is masked and something is always left to sample: with an EOS mass of
    1 - mass or more every other token is masked, and with a first token above `mass` none is.

    Args:
        probs: the clean policy at the sampling temperature, each row summing to 1, (..., V).
        drift: mean drift of every vocabulary token over the perturbed prompts, (..., V).
        eos_ids: every id that ends a response.
        mass: how much of the clean policy may be masked, in [0, 1).

    Returns:
        bool (..., V).

    Raises:
        NonFiniteError: on NaN or infinite probabilities or drifts, naming the first row.
        ShapeError: when the shapes differ. ScapoError: on a mass outside [0, 1), rows that don't sum to 1,
        or an EOS id outside the vocabulary.
    """
    _check(probs, drift, eos_ids, mass)
    eos_V = torch.zeros(probs.shape[-1], dtype=torch.bool, device=probs.device)
    eos_V[list(eos_ids)] = True
    order = drift.masked_fill(eos_V, -torch.inf).sort(dim=-1, descending=True, stable=True).indices
    reached = probs.double().gather(-1, order).cumsum(dim=-1)
    fits = (reached <= mass + MASS_TOLERANCE) & ~eos_V[order]  # a prefix: probabilities only add up
    fits &= reached < reached[..., -1:]  # with a mass near 1 (or rounded rows) the last one must stay
    return torch.zeros_like(fits).scatter(-1, order, fits)


def vocabulary_drift(logp_clean_V: Tensor, logp_perturbed_KV: Tensor) -> Tensor:
    """Mean over the K perturbed prompts of every token's drift (eq. 6): (..., V) and (K, ..., V) to (..., V)."""
    if not len(logp_perturbed_KV):
        raise ScapoError("d-filtered decoding needs at least one perturbed prompt; there is none.")
    return probability_drift(logp_clean_V, logp_perturbed_KV).mean(dim=0)


def filtered_policy(probs: Tensor, masked: Tensor) -> Tensor:
    """The clean policy without the masked tokens, renormalised, (..., V)."""
    kept = probs.masked_fill(masked, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


def _check(probs: Tensor, drift: Tensor, eos_ids: Collection[int], mass: float) -> None:
    if probs.shape != drift.shape or probs.dim() == 0:
        raise ShapeError(
            f"probs {tuple(probs.shape)} and drift {tuple(drift.shape)} must have one shape (..., V)."
        )
    if not 0 <= mass < 1:
        raise ScapoError(f"The filter mass is {mass}; it must be at least 0 and below 1.")
    V = probs.shape[-1]
    if not all(0 <= token < V for token in eos_ids):
        raise ScapoError(f"The EOS ids {sorted(eos_ids)} do not all lie in a vocabulary of {V}.")
    bad = ~(torch.isfinite(probs) & torch.isfinite(drift)).all(dim=-1).reshape(-1)
    if bool(bad.any()):
        row = int(bad.nonzero()[0])
        raise NonFiniteError(f"Row {row} has a probability or drift that is not a finite number.")
    if probs.numel() and float((probs.double().sum(dim=-1) - 1).abs().max()) > SUM_TOLERANCE:
        raise ScapoError("The probabilities of a row don't sum to 1. Pass the soft-max of the clean logits.")
