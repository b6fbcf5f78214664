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
    cases = [(n, span) for n, spans in enumerate(found) for span in spans.spans]
    masked = [_with_masked(originals[n], span, pad_id) for n, span in cases]
    if not cases:
        return [[] for _ in rows]
    scored = response_logprobs(
        model, [*originals, *masked], temperature=temperature, batch_tokens=batch_tokens, noise_rows=0
    )
    drops: list[list[float]] = [[] for _ in rows]
    for number, (n, _) in enumerate(cases):
        start, stop = found[n].answer or (0, 0)
        original, without = (scored.logp_clean[row, start:stop] for row in (n, len(rows) + number))
        drops[n].append(float((original.double() - without.double()).sum()))
    return drops


def _with_masked(row: ProbeRow, span: Span, pad_id: int) -> ProbeRow:
    start, stop = span
    response = [*row.response[:start], *[pad_id] * (stop - start), *row.response[stop:]]
    return ProbeRow(clean=row.clean, perturbed=(), response=response)
