"""Seeds, and one reproducible draw per row: the token picked never depends on who else is in the batch.

Shapes: B rows in the batch, V vocabulary.
"""

import hashlib

import numpy as np
import torch

TOP = 64  # so many most probable tokens are looked at before a whole row is sorted
SEED_BITS = 31  # every engine takes a 31-bit seed (some are limited to 32 bits)


def sample_seed(seed: int, suite: str, problem_id: str, sample: int) -> int:
    """The seed of one sample: distinct within a problem, the same for every model under one run seed.

    Samples of one problem take consecutive seeds after a hashed start, so they can't collide; two models
    sampled under one run seed share their random numbers, which makes their paired difference less noisy.
    """
    digest = hashlib.sha256(f"{seed}\x1f{suite}\x1f{problem_id}".encode()).digest()
    return next_seed(int.from_bytes(digest[:8], "big"), sample)


def next_seed(seed: int, step: int) -> int:
    """The seed `step` samples on."""
    return (seed + step) % (1 << SEED_BITS)


class RowNoise:
    """Uniform numbers in [0, 1) of one row, a pure function of its seed and the token's place."""

    BLOCK = 256

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._block = self._generator.random(self.BLOCK)
        self._next = 0

    def draw(self) -> float:
        if self._next == self.BLOCK:
            self._block = self._generator.random(self.BLOCK)
            self._next = 0
        self._next += 1
        return float(self._block[self._next - 1])


def pick(logits_BV: torch.Tensor, uniform_B: torch.Tensor, temperature: float, top_p: float) -> torch.Tensor:
    """One token per row by inverse CDF over the nucleus, in vocabulary order; temperature 0 takes the mode.

    Vocabulary order (not the order of probability) keeps a draw stable when two tokens are nearly tied.
    Raises FloatingPointError on logits that are NaN or +inf: a broken model must not sample silently.
    """
    logits_BV = logits_BV.float()
    if not torch.isfinite(logits_BV.amax(-1)).all():
        raise FloatingPointError("The model gave logits that are not finite numbers.")
    if temperature == 0:
        return logits_BV.argmax(-1)
    probs_BV = nucleus(torch.softmax(logits_BV / temperature, -1), top_p)
    cdf_BV = probs_BV.double().cumsum(-1)
    target_B1 = uniform_B.to(cdf_BV.device, torch.float64)[:, None] * cdf_BV[:, -1:]
    index_B = torch.searchsorted(cdf_BV, target_B1, right=True).squeeze(-1)
    return torch.minimum(index_B, _last_positive(probs_BV))


def nucleus(probs_BV: torch.Tensor, top_p: float) -> torch.Tensor:
    """Zero all but the most probable tokens whose mass just reaches `top_p` (not renormalised).

    Tokens exactly as probable as the last one needed stay too, so the set doesn't hang on a sort order.
    """
    if top_p >= 1:
        return probs_BV
    ordered_BK = probs_BV.topk(min(TOP, probs_BV.shape[-1])).values
    if (ordered_BK.sum(-1) < top_p).any():
        ordered_BK = probs_BV.sort(descending=True).values
    needed_BK = ordered_BK.cumsum(-1) - ordered_BK < top_p
    cutoff_B1 = ordered_BK.gather(-1, needed_BK.sum(-1, keepdim=True) - 1)
    return probs_BV * (probs_BV >= cutoff_B1)


def _last_positive(probs_BV: torch.Tensor) -> torch.Tensor:
    places_V = torch.arange(probs_BV.shape[-1], device=probs_BV.device)
    return ((probs_BV > 0) * places_V).amax(-1)
