"""d-filtered sampling: the K + 1 contexts of a problem run as rows of one batch and take the same tokens.

Shape suffixes: _S streams (all contexts of all problems in the batch), _R problems (rows), _V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from scapo.algorithm import NonFiniteError, probability_drift
from scapo.decode.drift_filter import drift_filter
from scapo.errors import ScapoError
from scapo.sampling.generate import Reply, RunningBatch, extend
from scapo.sampling.noise import RowNoise, pick

PLAIN = 0.0
"""A filter mass of 0 masks nothing: plain sampling, with the same random numbers."""


@dataclass(frozen=True, kw_only=True)
class FilterRequest:
    """One response: the original prompt's ids, the ids of its K >= 1 rewrites, the row's seed."""

    clean_ids: tuple[int, ...]
    perturbed_ids: tuple[tuple[int, ...], ...]
    seed: int
    max_tokens: int


@dataclass
class FilterReply(Reply):
    """A reply, and `rejections`: the steps whose first draw was masked."""

    rejections: int = 0


@torch.inference_mode()
def filtered_generate(
    model: Any,
    requests: Sequence[FilterRequest],
    stop_ids: frozenset[int],
    mass: float = 0.8,
    temperature: float = 1.0,
) -> list[FilterReply]:
    """Sample one reply per request from the drift-filtered policy.

    Each step draws from the clean policy; a draw that is masked is rejected (and counted) and replaced by
    one from the renormalised rest, which is the same distribution as sampling that rest. A reply is a function
    of its request alone, not of its neighbours. With mass 0 it is the clean policy's own reply for the seed.

    Args:
        model: a transformers causal LM in evaluation mode.
        requests: finished ones leave the batch with all their contexts.
        stop_ids: every id that ends a response; never masked.
        mass: clean-policy mass that may be masked (appendix C: 0.8).

    Raises:
        NonFiniteError: when a context's logits are NaN or +inf, naming request and step.
        ScapoError: when a request has no perturbed prompt, or at a temperature of 0 (the filter needs a policy).
    """
    if not temperature > 0:
        raise ScapoError(
            f"The temperature is {temperature}; d-filtered decoding samples, so it must be above 0."
        )
    streams = _streams(requests, mass)
    replies = [FilterReply() for _ in requests]
    noise = [RowNoise(request.seed) for request in requests]
    batch = RunningBatch(model, [ids for _, ids in streams])
    while batch.alive:
        owner_S = torch.tensor([streams[stream][0] for stream in batch.alive])
        rows, which_S = torch.unique_consecutive(owner_S, return_inverse=True)
        logp_SV = _log_policy(batch.logits_BV, temperature, owner_S, replies)
        tokens = _draw(logp_SV, which_S.to(logp_SV.device), [noise[r] for r in rows.tolist()], stop_ids, mass)
        going = set()
        for row, (token, rejected) in zip(rows.tolist(), tokens, strict=True):
            replies[row].rejections += rejected
            if extend(replies[row], token, requests[row].max_tokens, stop_ids):
                going.add(row)
        tokens_S = torch.tensor([token for token, _ in tokens])[which_S]
        batch.step(tokens_S, [place for place, row in enumerate(owner_S.tolist()) if row in going])
    return replies


def _streams(requests: Sequence[FilterRequest], mass: float) -> list[tuple[int, tuple[int, ...]]]:
    """(request, prompt ids) of every context, the clean one of each request first."""
    streams = []
    for row, request in enumerate(requests):
        if mass and not request.perturbed_ids:
            raise ScapoError(f"Request {row} has no perturbed prompt, so no drift can be measured for it.")
        contexts = request.perturbed_ids if mass else ()
        streams += [(row, ids) for ids in (request.clean_ids, *contexts)]
    return streams


def _log_policy(logits_SV: Tensor, temperature: float, owner_S: Tensor, replies: list[FilterReply]) -> Tensor:
    bad_S = ~torch.isfinite(logits_SV.amax(dim=-1))
    if bool(bad_S.any()):
        row = int(owner_S[int(bad_S.nonzero()[0])])
        raise NonFiniteError(f"Request {row}, step {replies[row].tokens}: the logits are not finite numbers.")
    return (logits_SV.float() / temperature).log_softmax(dim=-1)


def _draw(
    logp_SV: Tensor, which_S: Tensor, noise_R: list[RowNoise], stop_ids: frozenset[int], mass: float
) -> list[tuple[int, bool]]:
    """(token, whether the first draw was rejected) for every row."""
    first_R = torch.searchsorted(which_S, torch.arange(len(noise_R), device=which_S.device))
    logp_RV = logp_SV[first_R]
    drawn_R = pick(logp_RV, _uniform(noise_R), 1.0, 1.0)
    if mass == PLAIN:
        return [(token, False) for token in drawn_R.tolist()]
    ends = [
        token for token in stop_ids if token < logp_RV.shape[-1]
    ]  # a tokenizer may know more than the model
    masked_RV = drift_filter(logp_RV.exp(), _mean_drift(logp_SV, logp_RV, which_S), ends, mass)
    rejected_R = masked_RV.gather(-1, drawn_R[:, None]).squeeze(-1)
    rows = rejected_R.nonzero().flatten()
    if len(rows):
        rest_RV = logp_RV[rows].masked_fill(masked_RV[rows], -torch.inf)
        drawn_R[rows] = pick(rest_RV, _uniform([noise_R[row] for row in rows.tolist()]), 1.0, 1.0)
    return list(zip(drawn_R.tolist(), rejected_R.tolist(), strict=True))


def _mean_drift(logp_SV: Tensor, logp_RV: Tensor, which_S: Tensor) -> Tensor:
    """Mean drift (R, V) over each row's perturbed streams; the clean stream's own drift, 0, is not counted."""
    drift_SV = probability_drift(logp_RV[which_S], logp_SV[None])[0]
    total_RV = torch.zeros_like(logp_RV).index_add_(0, which_S, drift_SV)
    return total_RV / (torch.bincount(which_S) - 1)[:, None]


def _uniform(noise: Sequence[RowNoise]) -> Tensor:
    return torch.tensor([row.draw() for row in noise], dtype=torch.float64)
