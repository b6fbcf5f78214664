"""CF-GRPO: tokens weighted by how much the answer rests on them (arXiv:2602.09331, "Beyond Uniform Credit").

Shape suffixes: _N rows (responses), _T response token positions.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from scapo.algorithm.checks import ShapeError, require_bool, require_dims
from scapo.algorithm.probe import response_logprobs
from scapo.algorithm.probe_plan import ProbeRow
from scapo.algorithm.spans import ResponseSpans, Span
from scapo.errors import ScapoError

BASE_IMPORTANCE = 0.2
"""Importance of a token that lies in no span."""


def span_importance_weight(
    drop: Sequence[Sequence[float]],
    spans: Sequence[Sequence[Span]],
    mask: Tensor,
    bounds: tuple[float, float] = (0.5, 4.0),
    conserve: bool = True,
) -> Tensor:
    """Weight of each token's advantage from the answer's log-prob drop when a span is masked.

        imp_t = 0.2 + sum of drop_s over the spans holding t;  scaled to [0.5, 1] by min-max (0.5 where flat)
        w_t   = w_min + (w_max - w_min) imp_t;   conserved: w *= N / sum(w) over the response's N valid tokens

    The rescaling keeps the size of each response's gradient. Sources settle neither whether to do it nor
    whether 4.0 is the boost or a cap, so both are arguments.

    Args:
        drop: per row the drop (nats) of each of its spans, S(original) - S(masked).
        spans: per row the spans' token ranges (start, stop). A row without spans gets weight 1.
        mask: valid response tokens, (N, T).
        bounds: (w_min, w_max). conserve: whether the weights of each response are rescaled to mean 1.

    Returns:
        float32 (N, T), 1 outside the mask.

    Raises:
        ShapeError: when drops, spans and rows don't match. ScapoError: on drops that are not finite.
    """
    require_dims("mask", mask, "NT")
    mask_NT = require_bool("mask", mask)
    if not len(drop) == len(spans) == len(mask_NT) or any(map(_lengths_differ, drop, spans)):
        raise ShapeError("`drop` and `spans` need one list per row of `mask`, and one drop per span.")
    weight_NT = torch.ones(mask_NT.shape, device=mask.device)
    for weight_T, mask_T, drops, ranges in zip(weight_NT, mask_NT, drop, spans, strict=True):
        if len(ranges) and bool(mask_T.any()):
            importance_T = torch.full_like(weight_T, BASE_IMPORTANCE, dtype=torch.float64)
            for value, (start, stop) in zip(drops, ranges, strict=True):
                importance_T[start:stop] += float(value)
            weight_T[mask_T] = _weights(importance_T[mask_T], bounds, conserve).float()
    return weight_NT


def _lengths_differ(drops: Sequence[float], ranges: Sequence[Span]) -> bool:
    return len(drops) != len(ranges)


def _weights(importance_M: Tensor, bounds: tuple[float, float], conserve: bool) -> Tensor:
    """Weights of one response's valid tokens, (M,)."""
    if not bool(torch.isfinite(importance_M).all()):
        raise ScapoError("A span's log-prob drop is NaN or infinite; look at the masked scoring pass.")
    lowest, highest = importance_M.amin(), importance_M.amax()
    scaled_M = torch.full_like(importance_M, 0.5)
    if bool(highest > lowest):
        scaled_M = 0.5 + 0.5 * (importance_M - lowest) / (highest - lowest)
    weight_M = bounds[0] + (bounds[1] - bounds[0]) * scaled_M
    return weight_M * (len(weight_M) / weight_M.sum()) if conserve else weight_M


def span_drops(
    model: Any,
    rows: Sequence[ProbeRow],
    found: Sequence[ResponseSpans],
    pad_id: int,
    *,
    temperature: float = 1.0,
    batch_tokens: int | None = None,
) -> list[list[float]]:
    """drop_s = S(original) - S(masked) in nats for every span; S is the log-prob of the answer region.

    A span is masked by replacing its tokens with `pad_id`, which the model still attends to, so that no
    position moves; all is scored under the original prompt with the current policy, one row per span.

    Args:
        rows: one per response; their perturbations are not used. found: from `find_spans`, one per row.

    Returns:
        Per row one drop per span, for `span_importance_weight`.
    """
    originals = [ProbeRow(clean=row.clean, perturbed=(), response=row.response) for row in rows]
    masked = masked_rows([row.response for row in rows], found, pad_id)
    if not masked:
        return [[] for _ in rows]
    cases = [ProbeRow(clean=rows[n].clean, perturbed=(), response=response) for n, response in masked]
    scored = response_logprobs(
        model, [*originals, *cases], temperature=temperature, batch_tokens=batch_tokens, noise_rows=0
    )
    return span_drops_from(scored.logp_clean[: len(rows)], list(scored.logp_clean[len(rows) :]), found)


def masked_rows(
    responses: Sequence[Sequence[int]], found: Sequence[ResponseSpans], pad_id: int
) -> list[tuple[int, list[int]]]:
    """Per span, row by row: the number of its response, and the response with the span's tokens as `pad_id`."""
    return [
        (n, [*response[:start], *[pad_id] * (stop - start), *response[stop:]])
        for n, (response, spans) in enumerate(zip(responses, found, strict=True))
        for start, stop in spans.spans
    ]


def span_drops_from(
    logp: Tensor, masked: Sequence[Tensor], found: Sequence[ResponseSpans]
) -> list[list[float]]:
    """drop_s per response and span, from log-probs of the responses (N, T) and one (T,) per `masked_rows`."""
    drops: list[list[float]] = [[] for _ in found]
    cases = [n for n, spans in enumerate(found) for _ in spans.spans]
    for n, without_T in zip(cases, masked, strict=True):
        start, stop = found[n].answer or (0, 0)
        drops[n].append(float((logp[n, start:stop].double() - without_T[start:stop].double()).sum()))
    return drops
