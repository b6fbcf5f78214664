"""CF-GRPO weights and drops, the 80/20 weight, and the group filter."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scapo.algorithm import (
    NonFiniteError,
    ProbeRow,
    ResponseSpans,
    ShapeError,
    mixed_groups,
    span_drops,
    span_importance_weight,
    top_entropy_weight,
)
from scapo.errors import ScapoError

FOUR = torch.ones(1, 4, dtype=torch.bool)


def test_span_weights_by_hand():
    # importance: 0.2, 0.2 + 3, 0.2 + 3 + 1, 0.2 + 1 = (0.2, 3.2, 4.2, 1.2); min-max to [0.5, 1]:
    # 0.5 + 0.5 * (0, 3, 4, 1) / 4 = (0.5, 0.875, 1, 0.625);  w = 0.5 + 3.5 imp = (2.25, 3.5625, 4, 2.6875)
    plain = span_importance_weight([[3.0, 1.0]], [[(1, 3), (2, 4)]], FOUR, conserve=False)
    torch.testing.assert_close(plain, torch.tensor([[2.25, 3.5625, 4.0, 2.6875]]))
    # conserved: times 4 / 12.5
    torch.testing.assert_close(span_importance_weight([[3.0, 1.0]], [[(1, 3), (2, 4)]], FOUR), plain * 0.32)


def test_equal_importance_is_flat():
    weight = span_importance_weight([[2.0]], [[(0, 4)]], FOUR, conserve=False)
    torch.testing.assert_close(weight, torch.full((1, 4), 0.5 + 3.5 * 0.5))
    assert torch.equal(span_importance_weight([[2.0]], [[(0, 4)]], FOUR), torch.ones(1, 4))


def test_rows_without_spans_or_tokens_have_weight_one():
    mask = torch.tensor([[True, True], [False, False]])
    assert torch.equal(span_importance_weight([[], [1.0]], [[], [(0, 1)]], mask), torch.ones(2, 2))


def test_bounds_are_an_argument():
    weight = span_importance_weight([[1.0]], [[(0, 1)]], FOUR, bounds=(0.0, 1.0), conserve=False)
    torch.testing.assert_close(weight, torch.tensor([[1.0, 0.5, 0.5, 0.5]]))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 9))
def test_conserved_weights_have_mean_one_and_padding_does_not_matter(seed, N, T):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(N, T, generator=generator) < 0.8
    starts = torch.randint(0, T, (N, 2), generator=generator).tolist()
    spans = [[(a, min(a + 3, T)) for a in row] for row in starts]
    drop = torch.randn(N, 2, generator=generator).tolist()
    weight = span_importance_weight(drop, spans, mask)
    for n in range(N):
        if bool(mask[n].any()):
            assert float(weight[n][mask[n]].mean()) == pytest.approx(1.0, abs=1e-5)
    assert bool((weight > 0).all())
    wide = span_importance_weight(drop, spans, torch.nn.functional.pad(mask, (0, 5)))
    assert torch.equal(wide[:, :T], weight)
    assert torch.equal(wide[:, T:], torch.ones(N, 5))


def test_mismatched_drops_spans_and_rows_are_named_errors():
    for drop, spans in (([[1.0]], [[]]), ([], []), ([[1.0], [1.0]], [[(0, 1)], [(0, 1)]])):
        with pytest.raises(ShapeError):
            span_importance_weight(drop, spans, FOUR)
    with pytest.raises(ScapoError, match="NaN"):
        span_importance_weight([[math.nan]], [[(0, 1)]], FOUR)


def test_span_drops_equal_two_plain_forwards_per_span(tiny_model):
    model, pad = tiny_model(), 0
    rows = [
        ProbeRow(clean=[5, 6, 7], perturbed=[[8]], response=[10, 11, 12, 13, 14, 15]),
        ProbeRow(clean=[5, 6, 7], perturbed=[[8]], response=[20, 21, 22]),
        ProbeRow(clean=[9], perturbed=[None], response=[30, 31, 32, 33]),
    ]
    found = [
        ResponseSpans(spans=((0, 2), (1, 4)), answer=(4, 6)),
        ResponseSpans(spans=(), answer=None),
        ResponseSpans(spans=((1, 3),), answer=(3, 4)),
    ]

    @torch.no_grad()
    def answer(prompt, response, region):
        logits = model(input_ids=torch.tensor([[*prompt, *response]])).logits[0, len(prompt) - 1 : -1]
        chosen = logits.log_softmax(-1)[range(len(response)), response]
        return float(chosen[region[0] : region[1]].sum())

    drops = span_drops(model, rows, found, pad)
    assert [len(row) for row in drops] == [2, 0, 1]
    original = answer([5, 6, 7], [10, 11, 12, 13, 14, 15], (4, 6))
    masked = [answer([5, 6, 7], ids, (4, 6)) for ids in ([0, 0, 12, 13, 14, 15], [10, 0, 0, 0, 14, 15])]
    assert drops[0] == pytest.approx([original - score for score in masked], abs=1e-5)
    last = answer([9], [30, 31, 32, 33], (3, 4)) - answer([9], [30, 0, 0, 33], (3, 4))
    assert drops[2][0] == pytest.approx(last, abs=1e-5)
    assert span_drops(model, rows[1:2], found[1:2], pad) == [[]]


def test_top_entropy_keeps_the_share_of_the_whole_batch():
    entropy = torch.tensor([[0.1, 0.9, 0.5, 9.0], [0.2, 0.8, 0.3, 0.4]])
    mask = torch.ones(2, 4).bool()
    mask[0, 3] = False  # 7 valid tokens: ceil(0.2 * 7) = 2, ceil(0.5 * 7) = 4
    assert top_entropy_weight(entropy, mask).tolist() == [[0, 1, 0, 0], [0, 1, 0, 0]]
    assert top_entropy_weight(entropy, mask, 0.5).tolist() == [[0, 1, 1, 0], [0, 1, 0, 1]]
    assert torch.equal(top_entropy_weight(entropy, mask, 1.0), mask.float())


def test_top_entropy_breaks_ties_by_position_and_bears_garbage_in_padding():
    entropy = torch.tensor([[0.5, 0.5, 0.5, 0.5, math.nan]])
    mask = torch.tensor([[True, True, True, True, False]])
    assert top_entropy_weight(entropy, mask, 0.5).tolist() == [[1, 1, 0, 0, 0]]
    assert top_entropy_weight(entropy, ~mask & False).tolist() == [[0] * 5]


def test_top_entropy_names_bad_input():
    with pytest.raises(NonFiniteError):
        top_entropy_weight(torch.tensor([[math.nan]]), torch.ones(1, 1).bool())
    for share in (0.0, 1.1, -1.0):
        with pytest.raises(ScapoError, match="share"):
            top_entropy_weight(torch.ones(1, 1), torch.ones(1, 1).bool(), share)


def test_mixed_groups_are_those_whose_rewards_differ():
    reward = torch.tensor([1.0, 0.95, 0, 0.95, 1, 0.95, 0, 1])
    group = torch.tensor([3, 7, 3, 7, 5, 7, 8, 5])
    assert mixed_groups(reward, group).tolist() == [True, False, True, False, False, False, False, False]
    with pytest.raises(NonFiniteError, match="row 0"):
        mixed_groups(torch.tensor([math.nan]), torch.tensor([0]))
