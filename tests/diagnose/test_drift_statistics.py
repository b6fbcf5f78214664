"""The statistics against a slow loop, and streaming against one shot."""

import math
import random

import numpy as np
import pytest
import torch

from scapo.diagnose.classes import TokenClass
from scapo.diagnose.statistics import EDGES, bootstrap_ratio, response_sums, summarise
from scapo.errors import ScapoError

KINDS = ["paraphrase", "typo_noise"]


def made_response(seed, tokens):
    """(problem id, clean log-probs, perturbed log-probs, classes); some tokens do not move."""
    generator = torch.Generator().manual_seed(seed)
    clean = -torch.rand(tokens, generator=generator) * 3
    shift = torch.randn(len(KINDS), tokens, generator=generator) * 0.2
    shift[:, ::4] = 0
    shift[0, 1::4] = 0
    classes = [random.Random(seed * 1000 + t).choice(list(TokenClass)[:5]) for t in range(tokens)]
    return f"p{seed % 5}", clean, clean + shift, classes


PANEL = [made_response(seed, tokens) for seed, tokens in enumerate([5, 1, 12, 30, 7, 9, 2])]


def records(panel):
    for problem, clean, perturbed, classes in panel:
        yield {"problem_id": problem, **response_sums(clean, perturbed, classes, KINDS)}


def slow_tokens():
    """Every token of the panel with its d per kind, in float64, by |p0 - pk| / mean(p0, pk)."""
    for problem, clean, perturbed, classes in PANEL:
        for t, name in enumerate(classes):
            p0 = math.exp(float(clean[t].double()))
            drift = []
            for k in range(len(KINDS)):
                pk = math.exp(float(perturbed[k, t].double()))
                drift.append((abs(p0 - pk) / ((p0 + pk) / 2), (pk > p0) - (pk < p0)))
            yield problem, name, drift


def test_every_number_equals_a_slow_loop():
    found = summarise(records(PANEL), KINDS, resamples=10)
    tokens = [(name, [d for d, _ in drift], [s for _, s in drift]) for _, name, drift in slow_tokens()]
    means = [sum(d) / len(d) for _, d, _ in tokens]
    assert (found["problems"], found["responses"], found["tokens"]) == (5, 7, len(tokens))
    assert found["mean"]["value"] == pytest.approx(sum(means) / len(means), rel=1e-5)
    assert found["share_zero"] == pytest.approx(sum(m == 0 for m in means) / len(means))
    signs = [s for _, _, signs in tokens for s in signs]
    for name, sign in {"up": 1, "down": -1, "unchanged": 0}.items():
        assert found["direction"][name] == pytest.approx(signs.count(sign) / len(signs))
    for k, kind in enumerate(KINDS):
        expected = sum(d[k] for _, d, _ in tokens) / len(tokens)
        assert found["per_kind"][kind]["value"] == pytest.approx(expected, rel=1e-5)
    for row in found["classes"]:
        own = [m for (name, _, _), m in zip(tokens, means, strict=True) if name == row["class"]]
        assert row["tokens"] == len(own)
        assert row["share"] == pytest.approx(len(own) / len(tokens))
        if own:
            assert row["value"] == pytest.approx(sum(own) / len(own), rel=1e-5)
            assert row["relative"] == pytest.approx(row["value"] / found["mean"]["value"])
        else:
            assert (row["value"], row["low"], row["relative"]) == (None, None, None)


def test_the_histogram_counts_every_token_once():
    found = summarise(records(PANEL), KINDS, resamples=10)["histogram"]
    means = [sum(d for d, _ in drift) / len(drift) for _, _, drift in slow_tokens()]
    expected, _ = np.histogram(means, bins=np.array(EDGES))
    assert sum(found["counts"]) == len(means)
    moved = sum(abs(a - b) for a, b in zip(found["counts"], expected.tolist(), strict=True))
    assert moved <= 2  # float32 against float64 at an edge


@pytest.mark.parametrize(("drift", "bin_"), [(0.0, 0), (2.0, len(EDGES) - 2)])
def test_the_histograms_ends_hold_0_and_2(drift, bin_):
    gap = torch.tensor([0.0 if drift == 0 else 80.0])
    sums = response_sums(torch.tensor([-90.0]), torch.tensor([-90.0]) + gap[None], [TokenClass.WORD], ["k"])
    assert sums["drift"] == drift
    assert sums["histogram"] == {str(bin_): 1}


def test_streaming_equals_one_shot():
    """One response's sums over all its tokens equal the sums of the same tokens given in pieces."""
    _, clean, perturbed, classes = PANEL[3]
    whole = {"problem_id": "p", **response_sums(clean, perturbed, classes, KINDS)}
    cuts = [(0, 7), (7, 8), (8, 30)]
    pieces = (
        {"problem_id": "p", **response_sums(clean[a:b], perturbed[:, a:b], classes[a:b], KINDS)}
        for a, b in cuts
    )
    one, many = (summarise(rows, KINDS, resamples=10) for rows in ([whole], pieces))
    one.pop("responses")
    many.pop("responses")
    assert _flat(many) == pytest.approx(_flat(one), rel=1e-12)


def _flat(value):
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _flat(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _flat(inner)]
    return [value] if isinstance(value, int | float) else []


def test_missing_kinds_count_nowhere():
    _, clean, perturbed, classes = PANEL[2]
    only = {"problem_id": "a", **response_sums(clean, perturbed[1:], classes, KINDS[1:])}
    found = summarise([only], KINDS, resamples=10)
    assert list(found["per_kind"]) == ["typo_noise"]
    assert found["mean"]["value"] == pytest.approx(found["per_kind"]["typo_noise"]["value"])


def test_nan_log_probs_are_refused():
    clean = torch.tensor([-1.0, float("nan")])
    with pytest.raises(ScapoError, match="not numbers"):
        response_sums(clean, clean[None], [TokenClass.WORD] * 2, ["k"])


def test_lengths_must_fit():
    with pytest.raises(ValueError, match="1 classes"):
        response_sums(torch.zeros(2), torch.zeros(1, 2), [TokenClass.WORD], ["k"])


def test_no_token_at_all_is_a_sentence():
    with pytest.raises(ScapoError, match="no drift to measure"):
        summarise([], KINDS)


def test_one_problem_has_no_interval():
    _, clean, perturbed, classes = PANEL[0]
    record = {"problem_id": "a", **response_sums(clean, perturbed, classes, KINDS)}
    mean = summarise([record], KINDS)["mean"]
    assert (mean["low"], mean["high"]) == (None, None)


def test_intervals_resample_problems_not_tokens():
    """Problems of equal size: the interval is that of a mean of 40 numbers, whatever the number of tokens."""
    values = np.random.default_rng(0).normal(1.0, 0.2, 40)
    tokens = 1000.0
    sums, counts = (values * tokens)[:, None], np.full((40, 1), tokens)
    ((low, high),) = bootstrap_ratio(sums, counts, seed=1)
    half = 1.96 * values.std() / math.sqrt(40)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.15 * half)


def test_the_bootstrap_is_seeded_and_independent_of_its_chunks(monkeypatch):
    sums, counts = np.arange(12.0).reshape(6, 2), np.ones((6, 2))
    first = bootstrap_ratio(sums, counts, seed=3, resamples=50)
    monkeypatch.setattr("scapo.diagnose.statistics.CHUNK_CELLS", 20)
    assert bootstrap_ratio(sums, counts, seed=3, resamples=50).tolist() == first.tolist()
    assert bootstrap_ratio(sums, counts, seed=4, resamples=50).tolist() != first.tolist()


def test_a_class_that_few_problems_have_still_gets_an_interval():
    sums, counts = np.array([[2.0], [0.0], [0.0]]), np.array([[2.0], [0.0], [0.0]])
    assert bootstrap_ratio(sums, counts, seed=0).tolist() == [[1.0, 1.0]]


def test_memory_grows_with_problems_not_with_responses():
    """60,000 tokens in 5,000 responses of 20 problems pass through without being kept."""
    import tracemalloc

    one = response_sums(*PANEL[2][1:], KINDS)
    rows = ({"problem_id": f"p{n % 20}", **one} for n in range(5_000))
    tracemalloc.start()
    found = summarise(rows, KINDS, resamples=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["tokens"] == 5_000 * 12
    assert peak < 1_000_000
