"""Which tokens are masked: by hand, at the edges, and against a slow walk."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scapo.algorithm import NonFiniteError, ShapeError
from scapo.decode import drift_filter, filtered_policy, vocabulary_drift
from scapo.errors import ScapoError


def masked(probs, drift, eos=(0,), mass=0.8):
    return drift_filter(torch.tensor(probs), torch.tensor(drift), eos, mass).int().tolist()


def test_masks_by_falling_drift_until_the_next_token_would_not_fit():
    # walk: token 2 (d 0.9, p 0.3 -> 0.3), token 1 (d 0.5, p 0.4 -> 0.7), token 3 (d 0.1, p 0.2 -> 0.9 > 0.8: stop)
    assert masked([0.1, 0.4, 0.3, 0.2], [2.0, 0.5, 0.9, 0.1]) == [0, 1, 1, 0]


def test_the_walk_stops_at_the_first_token_that_does_not_fit_even_if_a_later_one_would():
    # token 1 (0.7 fits), token 2 (0.7 + 0.2 = 0.9 does not): stop, though token 3 (0.05) would still fit
    assert masked([0.05, 0.7, 0.2, 0.05], [0.0, 0.9, 0.5, 0.1]) == [0, 1, 0, 0]


def test_a_first_token_above_the_mass_masks_nothing():
    assert masked([0.05, 0.85, 0.1], [0.0, 0.9, 0.5]) == [0, 0, 0]


def test_an_eos_mass_of_a_fifth_masks_everything_else():
    # 0.5 + 0.3 = 0.8 fits exactly, also in float32, so EOS is forced
    assert masked([0.2, 0.5, 0.3], [2.0, 0.1, 0.2]) == [0, 1, 1]
    policy = filtered_policy(torch.tensor([0.2, 0.5, 0.3]), torch.tensor([False, True, True]))
    assert policy.tolist() == [1.0, 0.0, 0.0]


def test_every_eos_id_is_spared_and_without_eos_mass_something_survives():
    assert masked([0.3, 0.3, 0.4], [2.0, 2.0, 0.1], eos=(0, 1)) == [0, 0, 1]
    # no mass on EOS: 0.5 fits, 0.5 + 0.5 does not
    assert masked([0.0, 0.5, 0.5], [0.0, 0.2, 0.1]) == [0, 1, 0]


def test_ties_go_to_the_lower_id():
    assert masked([0.1, 0.3, 0.3, 0.3], [0.0, 0.5, 0.5, 0.5]) == [0, 1, 1, 0]


def test_mass_zero_masks_no_token_with_mass():
    assert masked([0.2, 0.5, 0.3], [0.0, 0.5, 0.4], mass=0.0) == [0, 0, 0]


def test_batches_are_rows_on_their_own():
    probs = torch.tensor([[0.1, 0.4, 0.3, 0.2], [0.05, 0.7, 0.2, 0.05]])
    drift = torch.tensor([[2.0, 0.5, 0.9, 0.1], [0.0, 0.9, 0.5, 0.1]])
    both = drift_filter(probs[None], drift[None], (0,))
    assert both.shape == (1, 2, 4)
    assert both[0].int().tolist() == [[0, 1, 1, 0], [0, 1, 0, 0]]


def slow_walk(probs, drift, eos, mass):
    """The rule as written, one token after another, in Python floats."""
    chosen, total = set(), 0.0
    for token in sorted((t for t in range(len(probs)) if t not in eos), key=lambda t: (-drift[t], t)):
        if total + probs[token] > mass + 1e-6:
            break
        total += probs[token]
        chosen.add(token)
    return [int(token in chosen) for token in range(len(probs))]


@given(
    weights=st.lists(st.integers(0, 50), min_size=2, max_size=12).filter(any),
    drifts=st.lists(st.integers(0, 8), min_size=12, max_size=12),
    eos=st.sets(st.integers(0, 1), max_size=2),
    mass=st.sampled_from([0.1, 0.5, 0.8]),
)
def test_equals_the_slow_walk_and_never_masks_more_than_the_mass(weights, drifts, eos, mass):
    probs = [weight / sum(weights) for weight in weights]
    drift = [value / 4 for value in drifts[: len(probs)]]
    found = drift_filter(torch.tensor(probs, dtype=torch.float64), torch.tensor(drift), eos, mass)
    assert found.int().tolist() == slow_walk(probs, drift, eos, mass)
    assert sum(p for p, out in zip(probs, found.tolist(), strict=True) if out) <= mass + 2e-6


def test_vocabulary_drift_is_the_mean_over_the_prompts():
    clean = torch.tensor([0.5, 0.5]).log()
    # |0.5 - 0.25| / 0.375 = 2/3 and |0.5 - 0.75| / 0.625 = 0.4; the second prompt is the clean one: 0
    perturbed = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    torch.testing.assert_close(vocabulary_drift(clean, perturbed), torch.tensor([1 / 3, 0.2]))
    with pytest.raises(ScapoError, match="at least one perturbed prompt"):
        vocabulary_drift(clean, perturbed[:0])


def test_bad_input_is_named():
    probs, drift = torch.tensor([[0.5, 0.5], [0.5, 0.5]]), torch.zeros(2, 2)
    with pytest.raises(NonFiniteError, match="Row 1"):
        drift_filter(probs, torch.tensor([[0.0, 0.0], [0.0, float("nan")]]), (0,))
    with pytest.raises(ShapeError):
        drift_filter(probs, drift[:1], (0,))
    with pytest.raises(ScapoError, match="below 1"):
        drift_filter(probs, drift, (0,), mass=1.0)
    with pytest.raises(ScapoError, match="vocabulary of 2"):
        drift_filter(probs, drift, (2,))
    with pytest.raises(ScapoError, match="sum to 1"):
        drift_filter(probs.log(), drift, (0,))


def test_something_is_always_left_even_with_rounded_rows_and_a_mass_near_one():
    # a half-precision row may sum to 0.995; EOS has no mass, so the least drifting token must stay
    assert masked([0.0, 0.5, 0.495], [0.0, 0.2, 0.1], mass=0.998) == [0, 1, 0]
    policy = filtered_policy(torch.tensor([0.0, 0.5, 0.495]), torch.tensor([False, True, False]))
    assert policy.tolist() == [0.0, 0.0, 1.0]
