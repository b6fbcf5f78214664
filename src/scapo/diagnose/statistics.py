"""Sums per response, and the paper's figure 2 and table 4 from them: nothing per token is ever kept.

Shape suffixes: _K kinds of rewrite, _T response tokens, _P problems, _C columns (a ratio each), _B resamples.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from scapo.algorithm import probability_drift
from scapo.diagnose.classes import TokenClass
from scapo.errors import ScapoError

EDGES = (0.0, *(float(f"{10 ** (e / 5):.4g}") for e in range(-35, 2)), 2.0)
"""Bin edges of d: five bins per factor of ten from 1e-7 (about the resolution of float32 near 1) to 2."""
RESAMPLES = 2000
CHUNK_CELLS = 2**21  # resamples x problems drawn at a time: 16 MiB of counts

Floats = np.ndarray[Any, np.dtype[np.float64]]


def response_sums(
    logp_clean_T: torch.Tensor, logp_KT: torch.Tensor, classes: Sequence[TokenClass], kinds: Sequence[str]
) -> dict[str, Any]:
    """Counts and sums of one response's drift, all that the statistics need; JSON-ready.

    `kinds` names the rows of `logp_KT`: the rewrites this problem has. d_t is their mean; `zero` counts
    tokens with d_t exactly 0; `direction` counts (token, kind) pairs.

    Raises:
        ScapoError: when a log-prob is NaN. ValueError: when lengths don't fit.
    """
    if len(classes) != len(logp_clean_T) or len(kinds) != len(logp_KT):
        raise ValueError(f"{len(classes)} classes, {len(kinds)} kinds, log-probs {tuple(logp_KT.shape)}")
    if bool(logp_clean_T.isnan().any() | logp_KT.isnan().any()):
        raise ScapoError("The model gave log-probs that are not numbers. Check its weights, or try float32.")
    drift_KT = probability_drift(logp_clean_T, logp_KT).double().cpu().numpy()
    mean_T = drift_KT.mean(axis=0)
    rose_KT = (logp_KT > logp_clean_T).cpu().numpy()
    moved_KT = drift_KT > 0
    bins, counts = np.unique(np.searchsorted(EDGES[1:-1], mean_T, side="right"), return_counts=True)
    return {
        "tokens": len(mean_T),
        "drift": float(mean_T.sum()),
        "zero": int((mean_T == 0).sum()),
        "direction": {
            "unchanged": int((~moved_KT).sum()),
            "up": int((moved_KT & rose_KT).sum()),
            "down": int((moved_KT & ~rose_KT).sum()),
        },
        "kinds": {kind: [len(row), float(row.sum())] for kind, row in zip(kinds, drift_KT, strict=True)},
        "classes": _class_sums(mean_T, classes),
        "histogram": {str(bin_): int(count) for bin_, count in zip(bins, counts, strict=True)},
    }


def _class_sums(mean_T: Floats, classes: Sequence[TokenClass]) -> dict[str, list[float]]:
    sums: dict[str, list[float]] = {}
    for name, value in zip(classes, mean_T, strict=True):
        one = sums.setdefault(str(name), [0, 0.0])
        one[0] += 1
        one[1] += float(value)
    return sums


def summarise(
    records: Iterable[Mapping[str, Any]], kinds: Sequence[str], *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Any]:
    """The statistics of drift.json from `response_sums` records that carry a `problem_id`.

    Memory grows with the number of problems only. Intervals are bootstrap percentiles over problems: the
    tokens and responses of one problem stay together.
    """
    columns = ["all", *TokenClass, *kinds]
    per_problem: dict[str, Floats] = {}  # (2, C): token counts and drift sums
    totals = _Totals()
    for record in records:
        cell = per_problem.setdefault(str(record["problem_id"]), np.zeros((2, len(columns))))
        cell += _columns(record, kinds)
        totals.add(record)
    counts_PC, sums_PC = np.stack(list(per_problem.values()), axis=1) if per_problem else np.zeros((2, 0, 1))
    if not counts_PC.sum():
        raise ScapoError("No response has a single token, so there is no drift to measure.")
    bands = bootstrap_ratio(sums_PC, counts_PC, seed=seed, resamples=resamples)
    estimates = dict(zip(columns, map(_estimate, _ratio(sums_PC, counts_PC), bands), strict=True))
    tokens = int(counts_PC[:, 0].sum())
    return {
        "problems": len(per_problem),
        "responses": totals.responses,
        "tokens": tokens,
        "kinds": list(kinds),
        "mean": estimates["all"],
        "share_zero": totals.zero / tokens,
        "direction": totals.direction_shares(),
        "histogram": {"edges": list(EDGES), "counts": totals.histogram.tolist()},
        "per_kind": {kind: estimates[kind] for kind in kinds if estimates[kind]["value"] is not None},
        "classes": _class_table(estimates, counts_PC.sum(axis=0), tokens),
    }


def _columns(record: Mapping[str, Any], kinds: Sequence[str]) -> Floats:
    pairs = [(record["tokens"], record["drift"])]
    pairs += [record["classes"].get(str(name), (0, 0.0)) for name in TokenClass]
    pairs += [record["kinds"].get(kind, (0, 0.0)) for kind in kinds]
    return np.array(pairs, dtype=np.float64).T


class _Totals:
    """Running totals that need no interval."""

    def __init__(self) -> None:
        self.responses = self.zero = 0
        self.direction = {"unchanged": 0, "up": 0, "down": 0}
        self.histogram = np.zeros(len(EDGES) - 1, dtype=np.int64)

    def add(self, record: Mapping[str, Any]) -> None:
        self.responses += 1
        self.zero += record["zero"]
        for name, count in record["direction"].items():
            self.direction[name] += count
        for bin_, count in record["histogram"].items():
            self.histogram[int(bin_)] += count

    def direction_shares(self) -> dict[str, float]:
        pairs = sum(self.direction.values())
        return {name: count / pairs for name, count in self.direction.items()}


def bootstrap_ratio(sums_PC: Floats, counts_PC: Floats, *, seed: int, resamples: int = RESAMPLES) -> Floats:
    """95 % percentile intervals (C, 2) of sum / count when problems are drawn with replacement.

    NaN for fewer than two problems and for a column without tokens; a resample without any is left out.
    """
    problems, columns = counts_PC.shape
    if problems < 2:
        return np.full((columns, 2), np.nan)
    generator = np.random.default_rng(seed)
    chunk = max(1, CHUNK_CELLS // problems)
    parts = []
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        times_BP = generator.multinomial(problems, np.full(problems, 1 / problems), size=size).astype(float)
        with np.errstate(invalid="ignore"):
            parts.append((times_BP @ sums_PC) / (times_BP @ counts_PC))
    ratios_BC = np.concatenate(parts)
    bands = np.full((columns, 2), np.nan)
    for column in np.flatnonzero(counts_PC.sum(axis=0) > 0):
        bands[column] = np.nanpercentile(ratios_BC[:, column], (2.5, 97.5))
    return bands


def _ratio(sums_PC: Floats, counts_PC: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        ratio: Floats = sums_PC.sum(axis=0) / counts_PC.sum(axis=0)
    return ratio


def _estimate(value: float, band: Floats) -> dict[str, float | None]:
    numbers = {"value": value, "low": band[0], "high": band[1]}
    return {name: float(number) if np.isfinite(number) else None for name, number in numbers.items()}


def _class_table(
    estimates: Mapping[str, dict[str, float | None]], counts_C: Floats, tokens: int
) -> list[dict[str, Any]]:
    overall = estimates["all"]["value"] or 0.0
    rows = []
    for place, name in enumerate(TokenClass, start=1):
        value = estimates[name]["value"]
        relative = value / overall if value is not None and overall > 0 else None
        share = counts_C[place] / tokens
        count = int(counts_C[place])
        rows.append(
            {"class": str(name), "tokens": count, "share": share, **estimates[name], "relative": relative}
        )
    return rows
