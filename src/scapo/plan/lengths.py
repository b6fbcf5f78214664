"""How long the responses of a batch are: a stated distribution, or the lengths of a real run."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

from scapo.errors import ScapoError
from scapo.files import read_jsonl

Lengths = NDArray[np.int64]

LENGTH_CV = 0.8
"""Standard deviation over mean of response lengths. Assumed: the replies of Qwen3-8B to GPQA have 0.48 to 0.54
(histograms in the file named in `hardware.py`), and a training batch mixes easy and hard problems. Give
--lengths to use those of a run of your own."""


def assumed_lengths(count: int, mean: float, limit: int, cv: float = LENGTH_CV) -> Lengths:
    """(count,) evenly spaced quantiles of a log-normal distribution that is cut at `limit`, with that mean.

    The cut ones are the truncated responses. cv is the coefficient of variation before the cut.
    """
    if not 1 <= mean <= limit:
        raise ScapoError(
            f"The mean response length is {mean:g} tokens and the limit {limit}. Give a mean of at least 1 "
            "and at most the limit (--mean-response, --response)."
        )
    if cv < 0:
        raise ScapoError(f"The coefficient of variation of the lengths is {cv}; it can't be negative.")
    if cv == 0 or mean > 0.98 * limit:  # nearly all are cut: any spread before the cut is the same
        return np.full(count, round(mean), dtype=np.int64)
    sigma = np.sqrt(np.log1p(cv**2))
    shape = np.exp(sigma * norm.ppf((np.arange(count) + 0.5) / count))

    def too_long(scale: float) -> float:
        return float(np.minimum(scale * shape, limit).mean()) - mean

    scale = brentq(too_long, 0.0, limit / float(shape[0]))
    return np.maximum(np.rint(np.minimum(scale * shape, limit)), 1).astype(np.int64)


def measured_lengths(path: Path, count: int, limit: int) -> Lengths:
    """(count,) quantiles of the `tokens` of a samples.jsonl (a training run's or an evaluation's), cut at `limit`."""
    tokens = [_tokens(path, line, row.get("tokens")) for line, row in read_jsonl(path)]
    if not tokens:
        raise ScapoError(f"{path} has no rows. Give the samples.jsonl of a run.")
    quantiles = np.quantile(tokens, (np.arange(count) + 0.5) / count)
    return np.clip(np.rint(quantiles), 1, limit).astype(np.int64)


def _tokens(path: Path, line: int, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ScapoError(
            f"{path}, line {line}: `tokens` is {value!r}, not a number of tokens. Give the samples.jsonl of "
            "`scapo train` or `scapo evaluate`."
        )
    return value


def dealt(lengths: Lengths, hands: int, seed: int = 0) -> list[Lengths]:
    """The lengths shuffled (always the same way) and dealt to `hands` engines: nobody knows them beforehand."""
    order = np.random.default_rng(seed).permutation(len(lengths))
    return [lengths[order[hand::hands]] for hand in range(hands)]


def padded(lengths: Lengths, rows: int, ordered: bool) -> Lengths:
    """The width at which each response is computed when `rows` of them share a rectangular batch.

    ordered: batches of like lengths; else in the order in which they come.
    """
    chosen = np.sort(lengths)[::-1] if ordered else dealt(lengths, 1)[0]
    starts = np.arange(0, len(chosen), rows)
    widths = np.maximum.reduceat(chosen, starts)
    return np.repeat(widths, rows)[: len(chosen)]
