"""Numbers about drift, stability and credit; pure functions of tensors.

Shape suffixes: _N responses, _M valid tokens.
"""

from collections import Counter

import numpy as np
import torch
from torch import Tensor

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
U_EDGES = [-6.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0]
"""Bin edges of the u histogram; the first and the last bin also take everything beyond."""


def drift_summary(mean_drift_M: Tensor, noise_M: Tensor) -> dict[str, float]:
    """Mean, quantiles and share of exact zeros of d (mean over k) at the valid tokens, beside the noise.

    `noise_M` holds the drift of the original prompt against itself in other batch shapes: what rounding alone
    does. Signal-to-noise is left out when the floor is exactly 0.
    """
    if mean_drift_M.numel() == 0:
        return {}
    values = mean_drift_M.double().cpu().numpy()
    found = {"drift/mean": float(values.mean()), "drift/share_zero": float((values == 0).mean())}
    found |= {f"drift/{name}": float(np.quantile(values, q)) for name, q in QUANTILES.items()}
    if noise_M.numel():
        floor = float(noise_M.double().mean())
        found["drift/noise_floor"] = floor
        if floor > 0:
            found["drift/signal_to_noise"] = found["drift/mean"] / floor
    return found


def credit_summary(advantage_M: Tensor, correction_M: Tensor, lam: float) -> dict[str, float]:
    """Shares of valid tokens: corrected, corrected without outcome signal, sign turned by lambda * u."""
    tokens = max(1, len(advantage_M))
    corrected_M = correction_M != 0
    flipped_M = advantage_M * (advantage_M + lam * correction_M) < 0
    return {
        "credit/share_corrected": int(corrected_M.sum()) / tokens,
        "credit/sign_flips": int(flipped_M.sum()) / tokens,
        "credit/dead_group_tokens": int((corrected_M & (advantage_M == 0)).sum()) / tokens,
    }


def histogram(u_M: Tensor) -> dict[str, list[float]]:
    """Counts of u between U_EDGES."""
    counts, _ = np.histogram(u_M.double().cpu().numpy().clip(U_EDGES[0], U_EDGES[-1]), bins=U_EDGES)
    return {"edges": U_EDGES, "counts": [int(c) for c in counts]}


def dead_rows(reward_N: Tensor, group_N: Tensor) -> Tensor:
    """True for responses whose whole group got one reward (unscored responses aside): no outcome signal."""
    dead_N = torch.zeros_like(group_N, dtype=torch.bool)
    for group in group_N.unique():
        scored = reward_N[group_N == group]
        scored = scored[~scored.isnan()]
        dead_N[group_N == group] = bool(len(scored) == 0 or scored.amax() == scored.amin())
    return dead_N


def reason_shares(reasons: list[str | None]) -> dict[str, float]:
    """Share of responses per reward reason."""
    counts = Counter(reason for reason in reasons if reason)
    return {f"reward/reason/{name}": count / len(reasons) for name, count in sorted(counts.items())}
