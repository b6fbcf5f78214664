"""DAPO's group filter (dynamic sampling, arXiv:2503.14476): which groups can teach anything.

Shape suffixes: _N rows (responses).
"""

import torch
from torch import Tensor

from scapo.algorithm.checks import require_dims, require_finite, require_shape, rows_by_group


def mixed_groups(reward: Tensor, group: Tensor) -> Tensor:
    """True for the rows of groups whose rewards differ, bool (N,).

    All-right and all-wrong groups (and groups of one) have A = 0. Plain GRPO learns nothing from them; in
    SCAPO they still carry the correction. To leave them out, clear their rows of the mask, so that numerator
    and denominator agree.

    Args:
        reward: (N,), finite. group: id of each row's prompt, (N,).
    """
    require_dims("reward", reward, "N")
    require_shape("group", group, tuple(reward.shape))
    require_finite("reward", reward)
    mixed_N = torch.zeros(len(reward), dtype=torch.bool, device=reward.device)
    for rows in rows_by_group(group):
        mixed_N[rows] = reward[rows].amax() != reward[rows].amin()
    return mixed_N
