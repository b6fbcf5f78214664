"""FLOPs against torch's own counter on a small Qwen3, and by hand."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count
from transformers import Qwen3Config, Qwen3ForCausalLM

from scapo.plan.flops import (
    ATTENTION_BACKWARD,
    causal_pairs,
    forward_flops,
    head_flops,
    pair_flops,
    sequence_pairs,
    token_flops,
    update_flops,
)
from scapo.plan.model_shape import ModelShape

ROWS, LENGTH = 3, 10
TINY = ModelShape(
    name="tiny", layers=2, hidden=32, heads=4, kv_heads=2, head_dim=16, ffn=48, vocab=101, tied=True, qk_norm=True
)  # fmt: skip


def tiny_model() -> Qwen3ForCausalLM:
    config = Qwen3Config(
        num_hidden_layers=2,
        hidden_size=32,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        intermediate_size=48,
        vocab_size=101,
        tie_word_embeddings=True,
        attn_implementation="eager",
    )
    torch.manual_seed(0)
    return Qwen3ForCausalLM(config).train()


def counted(model: Qwen3ForCausalLM, backward: bool) -> int:
    ids = torch.arange(ROWS * LENGTH).reshape(ROWS, LENGTH) % 101
    with FlopCounterMode(display=False) as counter:
        loss = model(ids, use_cache=False).logits.float().sum()
        if backward:
            loss.backward()
    return counter.get_total_flops()


# Eager attention computes all LENGTH x LENGTH pairs; fused kernels only the causal ones.
TOKENS = token_flops(TINY, ROWS * LENGTH)
PAIRS = pair_flops(TINY, ROWS * LENGTH**2)
HEAD = head_flops(TINY, ROWS * LENGTH)


def test_forward_matches_the_counter():
    assert counted(tiny_model(), backward=False) == TOKENS + PAIRS + HEAD


def test_backward_costs_twice_the_forward():
    # no gradient flows into the embedding lookup, so the first layer's input gradient is counted all the same
    assert counted(tiny_model(), backward=True) == 3 * (TOKENS + PAIRS + HEAD)


def test_checkpointing_runs_the_layers_once_more():
    model = tiny_model()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    # the last layer's last product need not be computed again: torch stops early, so bounds instead of equality
    last = 2 * ROWS * LENGTH * TINY.ffn * TINY.hidden * TINY.layers
    whole = 4 * (TOKENS + PAIRS) + 3 * HEAD
    assert whole - last <= counted(model, backward=True) <= whole


def test_fused_attention_backward_costs_two_and_a_half_forwards():
    shape = (1, 4, 10, 16)
    forward = sdpa_flop_count(shape, shape, shape)
    assert sdpa_backward_flop_count(shape, shape, shape, shape) == ATTENTION_BACKWARD * forward
    assert forward * TINY.layers == pair_flops(TINY, 10**2)


def test_pairs_by_hand():
    # prompt 2, responses of 1 and 3: sequences of 3 and 5 tokens have 6 and 15 pairs, a prompt 3
    lengths = np.array([1, 3])
    assert causal_pairs(5) == 15
    assert sequence_pairs(2, lengths, 2) == 6 + 15
    assert sequence_pairs(2, lengths, 1) == 6 + 15 - 3  # one prompt pass for both


def test_a_forward_pass_by_hand():
    lengths = np.array([1, 3])
    # 2 prompts of 2 tokens and 4 response tokens; the head at the 4 response tokens
    expected = token_flops(TINY, 8) + pair_flops(TINY, 21) + head_flops(TINY, 4)
    assert forward_flops(TINY, 2, lengths) == expected
    shared = token_flops(TINY, 6) + pair_flops(TINY, 18) + head_flops(TINY, 4)
    assert forward_flops(TINY, 2, lengths, group=2) == shared


@pytest.mark.parametrize(("checkpointing", "layers", "attention"), [(True, 4, 4.5), (False, 3, 3.5)])
def test_an_update_by_hand(checkpointing, layers, attention):
    lengths = np.array([1, 3])
    expected = layers * token_flops(TINY, 8) + attention * pair_flops(TINY, 21) + 3 * head_flops(TINY, 4)
    assert update_flops(TINY, 2, lengths, checkpointing=checkpointing) == pytest.approx(expected, rel=1e-12)
