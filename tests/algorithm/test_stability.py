"""Group-relative stability and its correction: hand-computed tensors, a float64 loop, properties."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scapo.algorithm import NonFiniteError, ShapeError, group_stability, semifactual_correction
from scapo.errors import ScapoError


def _z(values):
    """Plain Python: population z-score with eps 1e-6, zeros without spread."""
    if len(values) < 2 or max(values) == min(values):
        return [0.0] * len(values)
    mean = sum(values) / len(values)
    std = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    return [(v - mean) / (std + 1e-6) for v in values]


def stability_by_loops(drift, mask, group, present=None):
    """Equations 7 and 8 token by token, in Python floats."""
    K, N, T = drift.shape
    u = torch.zeros(N, T, dtype=torch.float64)
    for g in set(group.tolist()):
        rows = [n for n in range(N) if group[n] == g]
        places = [(n, t) for n in rows for t in range(T) if mask[n, t]]
        counted = [k for k in range(K) if present is None or all(present[k, n] for n in rows)]
        if not counted:
            continue
        per_kind = [_z([-float(drift[k, n, t]) for n, t in places]) for k in counted]
        means = [sum(column) / len(column) for column in zip(*per_kind, strict=True)]
        for (n, t), value in zip(places, _z(means), strict=True):
            u[n, t] = value
    return u


@st.composite
def batches(draw):
    """Ragged groups in any row order, ragged masks, missing perturbations."""
    seed = draw(st.integers(0, 2**31))
    generator = torch.Generator().manual_seed(seed)
    K, N, T = draw(st.integers(1, 4)), draw(st.integers(1, 7)), draw(st.integers(1, 6))
    drift = 2 * torch.rand(K, N, T, generator=generator)
    if draw(st.booleans()):
        drift = (drift * 2).round() / 2  # ties, and perturbations without spread
    mask = torch.rand(N, T, generator=generator) < draw(st.sampled_from([0.0, 0.4, 0.9, 1.0]))
    group = torch.tensor(draw(st.lists(st.sampled_from([-5, 0, 7]), min_size=N, max_size=N)))
    present = torch.rand(K, N, generator=generator) < draw(st.sampled_from([0.5, 0.95, 1.0]))
    return drift, mask, group, present


def test_one_group_by_hand():
    drift = torch.tensor([[[0.1, 0.3], [0.1, 9.0]], [[0.2, 0.2], [0.6, 9.0]]])
    mask = torch.tensor([[True, True], [True, False]])
    # k = 0: -d = (-0.1, -0.3, -0.1), mean -1/6, deviations (1, -2, 1)/15, std sqrt(2)/15
    #        z = (1, -2, 1) / sqrt(2) = (0.70711, -1.41421, 0.70711)
    # k = 1: -d = (-0.2, -0.2, -0.6), mean -1/3, deviations (2, 2, -4)/15: z = (0.70711, 0.70711, -1.41421)
    # mean over k = (1, -0.5, -0.5) / sqrt(2);  its z: mean 0, std 0.5, so (sqrt(2), -1/sqrt(2), -1/sqrt(2))
    u = group_stability(drift, mask, torch.tensor([4, 4]))
    expected = torch.tensor([[1.41421, -0.70711], [-0.70711, 0.0]])
    torch.testing.assert_close(u, expected, rtol=0, atol=2e-5)
    assert u[1, 1] == 0.0


def test_statistics_span_the_whole_group_not_each_response():
    # Within each response the drift is flat; only across the two responses does it differ.
    drift = torch.tensor([[[0.1, 0.1], [0.5, 0.5]]])
    u = group_stability(drift, torch.ones(2, 2, dtype=torch.bool), torch.tensor([0, 0]))
    torch.testing.assert_close(u, torch.tensor([[1.0, 1.0], [-1.0, -1.0]]), rtol=0, atol=1e-4)


@settings(max_examples=80, deadline=None)
@given(batches())
def test_equals_the_float64_loop(batch):
    expected = stability_by_loops(*batch)
    torch.testing.assert_close(group_stability(*batch).double(), expected, rtol=0, atol=2e-6)


@settings(max_examples=60, deadline=None)
@given(batches(), st.integers(1, 40), st.booleans())
def test_padding_never_changes_a_bit(batch, columns, left):
    drift, mask, group, present = batch
    K, N, T = drift.shape
    garbage = torch.full((K, N, columns), math.nan)
    empty = torch.zeros(N, columns, dtype=torch.bool)
    parts = [(garbage, drift), (empty, mask)] if left else [(drift, garbage), (mask, empty)]
    wide = group_stability(torch.cat(parts[0], -1), torch.cat(parts[1], -1), group, present)
    kept = wide[:, columns:] if left else wide[:, :T]
    assert torch.equal(kept, group_stability(drift, mask, group, present))
    assert float(wide.abs().sum()) == pytest.approx(float(kept.abs().sum()))


def test_padding_never_changes_a_bit_in_a_large_group():
    drift = torch.rand(4, 8, 3001, generator=torch.Generator().manual_seed(1))
    mask = torch.arange(3001) < torch.tensor([3001, 5, 1777, 2999, 64, 1, 2500, 33])[:, None]
    wide = torch.nn.functional.pad(drift, (0, 100), value=math.nan)
    u = group_stability(drift, mask, torch.zeros(8, dtype=torch.long))
    padded = group_stability(wide, torch.nn.functional.pad(mask, (0, 100)), torch.zeros(8, dtype=torch.long))
    assert torch.equal(padded[:, :3001], u)


@settings(max_examples=60, deadline=None)
@given(batches(), st.randoms())
def test_row_order_does_not_matter(batch, random):
    drift, mask, group, present = batch
    order = list(range(len(group)))
    random.shuffle(order)
    shuffled = group_stability(drift[:, order], mask[order], group[order], present[:, order])
    torch.testing.assert_close(shuffled, group_stability(*batch)[order], rtol=0, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(batches())
def test_mean_square_is_at_most_one_and_unmasked_places_are_zero(batch):
    drift, mask, group, present = batch
    u = group_stability(drift, mask, group, present)
    assert float(u[~mask].abs().sum()) == 0.0
    for g in group.unique():
        values = u[group == g][mask[group == g]].double()
        if len(values):
            assert float(values.square().mean()) <= 1 + 1e-6
            assert abs(float(values.mean())) < 1e-5


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_spread_gives_exact_zeros(value, dtype):
    drift = torch.full((2, 2, 3), value, dtype=dtype)  # six times 0.1 / 6 is not 0.1 in float64
    u = group_stability(drift, torch.ones(2, 3, dtype=torch.bool), torch.tensor([0, 0]))
    assert torch.equal(u, torch.zeros(2, 3, dtype=dtype))


def test_one_valid_token_and_no_valid_token_give_exact_zeros():
    drift, group = torch.rand(2, 2, 3), torch.tensor([0, 1])
    mask = torch.tensor([[True, False, False], [False, False, False]])
    assert torch.equal(group_stability(drift, mask, group), torch.zeros(2, 3))


def test_a_perturbation_counts_only_where_every_row_of_the_group_has_it():
    drift = torch.rand(2, 4, 5)
    drift[1, 0] = math.nan  # absent: never read
    mask, group = torch.ones(4, 5, dtype=torch.bool), torch.tensor([0, 0, 1, 1])
    present = torch.tensor([[True] * 4, [False, True, True, True]])
    u = group_stability(drift, mask, group, present)
    alone = group_stability(drift[:1, :2], mask[:2], group[:2])
    both = group_stability(drift[:, 2:], mask[2:], group[2:])
    assert torch.equal(u, torch.cat([alone, both]))


def test_no_perturbation_present_gives_exact_zeros():
    mask, group = torch.ones(3, 4).bool(), torch.zeros(3).long()
    absent = torch.zeros(2, 3, dtype=torch.bool)
    u = group_stability(torch.full((2, 3, 4), math.nan), mask, group, absent)
    assert torch.equal(u, torch.zeros(3, 4))
    assert torch.equal(group_stability(torch.zeros(0, 3, 4), mask, group), u)


def test_bfloat16_drift_gives_float32_stability():
    drift = torch.rand(1, 1, 50).bfloat16()
    u = group_stability(drift, torch.ones(1, 50).bool(), torch.zeros(1).long())
    assert u.dtype is torch.float32
    expected = stability_by_loops(drift.double(), torch.ones(1, 50).bool(), torch.zeros(1).long())
    torch.testing.assert_close(u.double(), expected, rtol=0, atol=2e-6)


def test_no_gradient_flows_into_the_drift():
    drift = torch.rand(1, 2, 3, requires_grad=True)
    assert not group_stability(drift, torch.ones(2, 3).bool(), torch.zeros(2).long()).requires_grad


def test_nan_at_a_valid_token_is_a_named_error():
    drift = torch.rand(1, 2, 3)
    drift[0, 1, 1] = math.nan
    with pytest.raises(NonFiniteError, match="NaN"):
        group_stability(drift, torch.ones(2, 3).bool(), torch.zeros(2).long())


@pytest.mark.parametrize(
    ("drift", "mask", "group", "present"),
    [
        ((2, 3), (2, 3), (2,), None),
        ((1, 2, 3), (2, 4), (2,), None),
        ((1, 2, 3), (2, 3), (3,), None),
        ((1, 2, 3), (2, 3), (2,), (2, 1)),
    ],
)
def test_wrong_shapes_are_named_errors(drift, mask, group, present):
    with pytest.raises(ShapeError):
        group_stability(
            torch.zeros(drift),
            torch.ones(mask).bool(),
            torch.zeros(group).long(),
            None if present is None else torch.ones(present).bool(),
        )


U = torch.tensor([[-1.0, 2.0, -3.0, 9.0], [0.5, -0.5, 9.0, 9.0]])
MASK = torch.tensor([[True, True, True, False], [True, True, False, False]])


@pytest.mark.parametrize(
    ("sign", "expected"),
    [
        ("negative", [[-1.0, 0.0, -3.0, 0.0], [0.0, -0.5, 0.0, 0.0]]),
        ("all", [[-1.0, 2.0, -3.0, 0.0], [0.5, -0.5, 0.0, 0.0]]),
        ("positive", [[0.0, 2.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0]]),
    ],
)
def test_signs_of_the_correction(sign, expected):
    assert semifactual_correction(U, MASK, sign=sign).tolist() == expected


def test_correction_is_fresh_and_detached():
    u = U.clone().requires_grad_()
    correction = semifactual_correction(u, MASK, sign="all")
    assert not correction.requires_grad
    correction[0, 0] = 7.0
    assert torch.equal(u.detach(), U)


def test_shuffled_keeps_each_response_s_multiset_and_moves_something():
    u = torch.randn(6, 40, generator=torch.Generator().manual_seed(3))
    mask = torch.arange(40) < torch.tensor([40, 30, 1, 0, 7, 25])[:, None]
    aligned = semifactual_correction(u, mask)
    shuffled = semifactual_correction(u, mask, source="shuffled", generator=torch.Generator().manual_seed(0))
    assert torch.equal(aligned.sort(dim=1).values, shuffled.sort(dim=1).values)
    assert float(shuffled[~mask].abs().sum()) == 0.0
    assert not torch.equal(aligned, shuffled)


def test_shuffling_is_seeded_and_blind_to_padding():
    u, mask = torch.randn(3, 9), torch.arange(9) < torch.tensor([9, 4, 6])[:, None]

    def shuffle(extra):
        wide, wide_mask = torch.nn.functional.pad(u, (0, extra)), torch.nn.functional.pad(mask, (0, extra))
        generator = torch.Generator().manual_seed(5)
        return semifactual_correction(wide, wide_mask, source="shuffled", generator=generator)[:, :9]

    assert torch.equal(shuffle(0), shuffle(0))
    assert torch.equal(shuffle(0), shuffle(20))


@pytest.mark.parametrize("wrong", [{"sign": "down"}, {"source": "random"}])
def test_unknown_choices_are_named_errors(wrong):
    with pytest.raises(ScapoError, match="must be one of"):
        semifactual_correction(U, MASK, **wrong)
