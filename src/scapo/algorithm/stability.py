"""Group-relative stability of tokens, and the correction made from it.

Shape suffixes: _K perturbations, _N rows (responses), _T response token positions, _M valid tokens of one
prompt's responses together.
"""

from typing import Literal, get_args

import torch
from torch import Tensor

from scapo.algorithm.checks import (
    NonFiniteError,
    at_least_float32,
    for_statistics,
    require_bool,
    require_dims,
    require_shape,
    rows_by_group,
)
from scapo.errors import ScapoError

STD_EPS = 1e-6
"""Added to the standard deviation in z. Drift lies in [0, 2]; a spread near 1e-6 is rounding noise."""

Sign = Literal["negative", "all", "positive"]
Source = Literal["aligned", "shuffled"]


def group_stability(drift: Tensor, mask: Tensor, group: Tensor, present: Tensor | None = None) -> Tensor:
    """Stability u of every valid token relative to all tokens sampled for the same prompt (eq. 7, 8).

        z(v) = (v - mean(v)) / (std(v) + 1e-6)         population std, over ALL valid tokens of the group
        u    = z( mean over k of z(-d^(k)) )

    Each perturbation is standardised first, so that a kind that moves everything does not drown the others.
    With the population std, mean(u^2) <= 1 in every group, which the bound of lemma D.1 rests on.

    Args:
        drift: drift per perturbation, (K, N, T).
        mask: True at valid response tokens, (N, T). Values elsewhere are never read.
        group: id of each row's prompt, integers, (N,). Groups may be ragged, their rows in any order.
        present: which perturbations each row has, bool (K, N); all when None. A perturbation counts for a
            group only where every row of the group has it.

    Returns:
        u (N, T), float32 or better, no gradient; 0 outside the mask. Exactly 0 for groups with fewer than two
        valid tokens, without spread, or without any perturbation. Padding never changes a bit: valid tokens
        are gathered before anything is summed, and sums run in float64.

    Raises:
        ShapeError: when shapes do not fit. NonFiniteError: when a drift that counts is NaN or infinite.
    """
    require_dims("drift", drift, "KNT")
    K, N, T = drift.shape
    require_shape("mask", mask, (N, T))
    require_shape("group", group, (N,))
    present_KN = torch.ones((K, N), dtype=torch.bool, device=drift.device) if present is None else present
    require_shape("present", present_KN, (K, N))
    mask_NT, present_KN = require_bool("mask", mask), require_bool("present", present_KN)
    drift_KNT = at_least_float32(drift.detach())
    u_NT = torch.zeros_like(drift_KNT[0] if K else drift_KNT.new_empty(N, T))
    for rows in rows_by_group(group):
        valid = mask_NT[rows]
        drift_KM = drift_KNT[:, rows][:, valid][present_KN[:, rows].all(dim=1)]
        u_rows = u_NT[rows]
        u_rows[valid] = _stability_of_group(drift_KM).to(u_NT.dtype)
        u_NT[rows] = u_rows
    return u_NT


def _stability_of_group(drift_KM: Tensor) -> Tensor:
    """Eq. 7 and 8 for one group's valid tokens: (K, M) drift to (M,) stability."""
    if not bool(torch.isfinite(drift_KM).all()):
        raise NonFiniteError(
            "A drift at a valid token is NaN or infinite. Mark the perturbation as absent for these rows, or "
            "look for NaN log-probs in the probe."
        )
    if drift_KM.shape[0] == 0:
        return drift_KM.new_zeros(drift_KM.shape[1])
    return _standardise(_standardise(-for_statistics(drift_KM)).mean(dim=0))


def _standardise(values: Tensor) -> Tensor:
    """z over the last dimension; exact zeros where there is no spread (or fewer than two values)."""
    if values.shape[-1] < 2:
        return torch.zeros_like(values)
    spread = values.amax(dim=-1, keepdim=True) - values.amin(dim=-1, keepdim=True)
    centred = values - values.mean(dim=-1, keepdim=True)
    std = centred.square().mean(dim=-1, keepdim=True).sqrt()
    return torch.where(spread > 0, centred / (std + STD_EPS), 0.0)


def semifactual_correction(
    u: Tensor,
    mask: Tensor,
    sign: Sign = "negative",
    source: Source = "aligned",
    generator: torch.Generator | None = None,
) -> Tensor:
    """The part of the stability that is added to the advantage (section 2; the ablations of table 2).

    Args:
        u: stability, (N, T). mask: valid response tokens, (N, T).
        sign: "negative" is the paper's min(u, 0): unstable tokens lose credit, none gains. "all" is u itself,
            "positive" is max(u, 0).
        source: "shuffled" permutes the corrections among the valid tokens of each response: same values, no
            alignment with the tokens. The permutation does not depend on padding.
        generator: CPU generator for "shuffled"; torch's global one when None.

    Returns:
        (N, T), fresh, without gradient, exactly 0 outside the mask.
    """
    require_dims("u", u, "NT")
    require_shape("mask", mask, tuple(u.shape))
    _require_choice("sign", sign, get_args(Sign))
    _require_choice("source", source, get_args(Source))
    mask = require_bool("mask", mask)
    correction = at_least_float32(u.detach()).masked_fill(~mask, 0.0)
    if source == "shuffled":
        correction = _shuffle_rows(correction, mask, generator)
    if sign == "negative":
        return correction.clamp(max=0.0)
    return correction.clamp(min=0.0) if sign == "positive" else correction


def _shuffle_rows(values_NT: Tensor, mask_NT: Tensor, generator: torch.Generator | None) -> Tensor:
    out_NT = values_NT.clone()
    for out_T, mask_T in zip(out_NT, mask_NT, strict=True):
        valid_M = out_T[mask_T]
        order_M = torch.randperm(len(valid_M), generator=generator)
        out_T[mask_T] = valid_M[order_M.to(valid_M.device)]
    return out_NT


def _require_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ScapoError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}.")
