"""Advantages: one number per response from its reward, then one per token with the correction added.

Shape suffixes: _N rows (responses), _T response token positions, _G rows of one group.
"""

import math
from typing import Literal, get_args

import torch
from torch import Tensor

from scapo.algorithm.checks import (
    ShapeError,
    at_least_float32,
    for_statistics,
    require_dims,
    require_finite,
    require_shape,
    rows_by_group,
)
from scapo.errors import ScapoError

Std = Literal["unbiased", "population", "none"]


def outcome_advantage(reward: Tensor, group: Tensor, std: Std = "unbiased", eps: float = 1e-6) -> Tensor:
    """Group-relative advantage of each response (eq. 2): A = (R - mean R) / (std R + eps) within its group.

    Args:
        reward: rewards, (N,). group: id of each row's prompt, (N,); ragged groups, rows in any order.
        std: "unbiased" divides squares by G - 1 (GRPO), "population" by G, "none" leaves the division out
            (Dr.GRPO, arXiv:2503.20783).
        eps: added to the std.

    Returns:
        (N,), float32 or better. Exactly 0 for a group whose rewards are all equal (judged by max - min: the
        float std of eight times 0.95 is not 0) and for a group of one.

    Raises:
        NonFiniteError: when a reward is NaN or infinite, naming the rows. ShapeError: on wrong shapes.
    """
    require_dims("reward", reward, "N")
    require_shape("group", group, tuple(reward.shape))
    if std not in get_args(Std):
        raise ScapoError(f"std is {std!r}; it must be one of 'unbiased', 'population', 'none'.")
    reward_N = at_least_float32(reward.detach())
    require_finite("reward", reward_N)
    advantage_N = torch.zeros_like(reward_N)
    for rows in rows_by_group(group):
        advantage_G = _advantage_of_group(for_statistics(reward_N[rows]), std, eps)
        advantage_N[rows] = advantage_G.to(advantage_N.dtype)
    return advantage_N


def _advantage_of_group(reward_G: Tensor, std: Std, eps: float) -> Tensor:
    if bool(reward_G.amax() == reward_G.amin()):
        return torch.zeros_like(reward_G)
    centred_G = reward_G - reward_G.mean()
    if std == "none":
        return centred_G
    return centred_G / (reward_G.std(correction=1 if std == "unbiased" else 0) + eps)


def augmented_advantage(advantage: Tensor, correction: Tensor, lam: float) -> Tensor:
    """Advantage per token (eq. 9): A~ = A + lambda * stop_gradient(correction).

    Args:
        advantage: (N,) or (N, T). correction: from `semifactual_correction`, (N, T).
        lam: weight of the correction, >= 0, from `LambdaSchedule.at(step)`.

    Returns:
        A fresh contiguous (N, T) tensor, float32 or better, without gradient; the inputs stay as they are.
        With lam = 0 it is exactly A broadcast (GRPO), whatever the correction holds.
    """
    require_dims("correction", correction, "NT")
    if advantage.dim() not in (1, 2) or advantage.shape != correction.shape[: advantage.dim()]:
        raise ShapeError(
            f"`advantage` has shape {tuple(advantage.shape)}, but (N,) or (N, T) of the correction's shape "
            f"{tuple(correction.shape)} is needed."
        )
    if not (math.isfinite(lam) and lam >= 0):
        raise ScapoError(f"lambda is {lam}; it must be a finite number that is not negative.")
    base = at_least_float32(advantage.detach())
    base_NT = base[:, None].expand_as(correction) if base.dim() == 1 else base
    out_NT = base_NT.clone(memory_format=torch.contiguous_format)
    return out_NT if lam == 0 else out_NT.add_(correction.detach().to(out_NT.dtype), alpha=lam)
