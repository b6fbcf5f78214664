"""Selected log-probs: values and gradients against the plain log-softmax, and the memory they take."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_meter import MemoryMeter

from scapo.algorithm import ShapeError, selected_logprobs
from scapo.errors import ScapoError


def plain(hidden, weight, targets, temperature=1.0, bias=None, scale=1.0, softcap=None):
    logits = scale * torch.nn.functional.linear(hidden, weight, bias)
    logits = logits if softcap is None else softcap * torch.tanh(logits / softcap)
    log_softmax = (logits / temperature).log_softmax(dim=-1)
    return log_softmax.gather(-1, targets[..., None])[..., 0], -(log_softmax.exp() * log_softmax).sum(-1)


def example(*shape, H=8, V=23, seed=0):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(*shape, H, generator=generator)
    weight = torch.randn(V, H, generator=generator)
    return hidden, weight, torch.randint(0, V, shape, generator=generator)


def test_two_words_by_hand():
    # logits (2, 0) and (0, 2): log softmax of the chosen one is -log(1 + e^-2) or -log(1 + e^2)
    hidden, weight = torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.eye(2)
    logp, entropy = selected_logprobs(hidden, weight, torch.tensor([0, 0]), with_entropy=True)
    torch.testing.assert_close(logp, torch.tensor([-0.126928, -2.126928]), rtol=0, atol=1e-6)
    # p = 0.880797, 0.119203:  0.880797 * 0.126928 + 0.119203 * 2.126928 = 0.365334
    torch.testing.assert_close(entropy, torch.tensor([0.365334, 0.365334]), rtol=0, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3, 7, 100, None]), st.sampled_from([0.3, 1.0, 2.5]))
def test_equals_plain_log_softmax_in_value_and_gradient(seed, chunk_tokens, temperature):
    hidden, weight, targets = example(3, 5, seed=seed)
    bias = torch.randn(23, generator=torch.Generator().manual_seed(seed))
    inputs = [x.requires_grad_() for x in (hidden, weight, bias)]
    ours = selected_logprobs(hidden, weight, targets, temperature, chunk_tokens, bias=bias, with_entropy=True)
    theirs = plain(hidden, weight, targets, temperature, bias=bias)
    # logits reach 10 / temperature; near 33 neighbouring float32 numbers are 4e-6 apart
    tolerance = 1e-6 * max(1.0, 1.2 / temperature)
    for mine, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-6, atol=tolerance)
    factors = torch.linspace(-1, 1, 15).reshape(3, 5)
    mine, reference = (
        torch.autograd.grad((factors * logp).mean() + 0.1 * entropy.mean(), inputs)
        for logp, entropy in (ours, theirs)
    )
    for a, b in zip(mine, reference, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("scale", "softcap"), [(0.25, None), (1.0, 3.0), (4.0, 2.0)])
def test_scaled_and_capped_logits(scale, softcap):
    hidden, weight, targets = example(6)
    ours = selected_logprobs(hidden, weight, targets, 0.7, 2, logit_scale=scale, logit_softcap=softcap)
    expected, _ = plain(hidden, weight, targets, 0.7, scale=scale, softcap=softcap)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-6)


def test_half_precision_is_computed_in_float32():
    hidden, weight, targets = example(50, H=64, V=100)
    half = hidden.bfloat16(), weight.bfloat16()
    expected, _ = plain(half[0].double(), half[1].double(), targets)
    logp = selected_logprobs(*half, targets)
    assert logp.dtype is torch.float32
    torch.testing.assert_close(logp.double(), expected, rtol=0, atol=2e-5)


def test_autocast_does_not_reach_the_head():
    hidden, weight, targets = example(50, H=64, V=100)
    hidden.requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logp = selected_logprobs(hidden, weight, targets, chunk_tokens=7)
    gradient = torch.autograd.grad(logp.sum(), hidden)[0]
    expected, _ = plain(hidden, weight, targets)
    torch.testing.assert_close(logp, expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), hidden)[0], rtol=1e-4, atol=1e-5)


def test_half_precision_parameters_get_gradients_of_their_own_dtype():
    hidden, weight, targets = example(9)
    weight = weight.bfloat16().requires_grad_()
    selected_logprobs(hidden.bfloat16(), weight, targets, chunk_tokens=4).sum().backward()
    assert weight.grad is not None
    assert weight.grad.dtype is torch.bfloat16


@pytest.mark.parametrize("gradient", [False, True])
def test_memory_does_not_grow_with_the_number_of_tokens(gradient):
    V, H, chunk = 3000, 16, 64

    def meter(tokens):
        hidden, weight, targets = example(tokens, H=H, V=V)
        weight.requires_grad_(gradient)
        with MemoryMeter() as memory:
            logp = selected_logprobs(hidden, weight, targets, chunk_tokens=chunk)
            if gradient:
                logp.sum().backward()
        return memory

    small, large = meter(256), meter(2048)
    assert large.largest == chunk * V * 4  # the largest tensor is one chunk's logits
    assert large.peak <= 4 * chunk * V * 4
    assert large.peak - small.peak <= 2048 * H * 4 * 3  # hidden-sized, not vocabulary-sized


def test_the_meter_sees_what_the_plain_way_costs():
    hidden, weight, targets = example(2048, H=16, V=3000)
    with MemoryMeter() as memory:
        plain(hidden, weight.requires_grad_(), targets)[0].sum().backward()
    assert memory.largest >= 2048 * 3000 * 4


def test_default_chunks_are_bounded_for_large_vocabularies():
    hidden, weight, targets = example(230, H=2, V=150_000)
    with MemoryMeter() as memory, torch.no_grad():
        selected_logprobs(hidden, weight, targets)
    assert memory.largest <= 2**25 * 4


def test_no_tokens_give_an_empty_result():
    hidden, weight, targets = example(0, 4)
    assert selected_logprobs(hidden.requires_grad_(), weight, targets).shape == (0, 4)


@pytest.mark.parametrize(
    ("hidden", "weight", "targets"),
    [((3, 8), (23, 7), (3,)), ((3, 8), (23, 8), (4,)), ((3, 8), (8,), (3,)), ((2, 3, 8), (23, 8), (3,))],
)
def test_wrong_shapes_are_named_errors(hidden, weight, targets):
    with pytest.raises(ShapeError):
        selected_logprobs(torch.zeros(hidden), torch.zeros(weight), torch.zeros(targets).long())


def test_wrong_settings_and_labels_are_named_errors():
    hidden, weight, targets = example(3)
    for temperature in (0.0, -1.0, float("nan")):
        with pytest.raises(ScapoError, match="temperature"):
            selected_logprobs(hidden, weight, targets, temperature)
    with pytest.raises(ScapoError, match="chunk_tokens"):
        selected_logprobs(hidden, weight, targets, chunk_tokens=0)
    for label in (-100, 23):
        with pytest.raises(ScapoError, match=f"{label}"):
            selected_logprobs(hidden, weight, torch.tensor([0, label, 1]))
