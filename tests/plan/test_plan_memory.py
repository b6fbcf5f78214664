"""Memory by hand-computed numbers."""

import pytest

from scapo.errors import ScapoError
from scapo.plan.hardware import GIB, GPUS, changed_gpu
from scapo.plan.memory import layer_elements, rollout_memory, train_memory
from scapo.plan.model_shape import SHAPES

QWEN = SHAPES["qwen3-4b"]  # 4,022,468,096 parameters


def test_states_are_sharded():
    one, eight = train_memory(QWEN, 1, 1000), train_memory(QWEN, 8, 1000)
    assert one.weights == 4 * 4_022_468_096
    assert one.weights + one.gradients + one.adam == 16 * 4_022_468_096
    assert eight.resident == 12 * 4_022_468_096 / 8
    assert eight.checkpoints == one.checkpoints  # not sharded


def test_activations_by_hand():
    memory = train_memory(QWEN, 8, 1000)
    assert memory.checkpoints == 2 * 1000 * 36 * 2560
    # 5 x 2560 + 4 x (32 + 8) x 128 + 4 x 9728 values a token in a layer
    assert layer_elements(QWEN) == 12_800 + 20_480 + 38_912
    assert memory.layer == 2 * 1000 * 72_192
    without = train_memory(QWEN, 8, 1000, checkpointing=False)
    assert (without.checkpoints, without.layer) == (0, 36 * memory.layer)


def test_gathered_by_hand():
    # a layer has 100,930,816 weights, the tied embedding 388,956,160
    layer, embedding = 100_930_816, 388_956_160
    assert QWEN.layer_params == layer
    assert train_memory(QWEN, 8, 1).gathered == 2 * (2 * layer + embedding) + 4 * (layer + embedding)


def test_whole_logits_grow_with_the_tokens_and_chunks_do_not():
    small, large = train_memory(QWEN, 8, 16_384), train_memory(QWEN, 8, 32_768)
    # 16,384 x 151,936 x 4 bytes are 9.27 GiB, and their gradient as much again
    assert small.logits_whole == 2 * 16_384 * 151_936 * 4 == pytest.approx(2 * 9.27 * GIB, rel=1e-3)
    assert large.logits_whole == 2 * small.logits_whole
    assert large.logits_chunked == small.logits_chunked == 2 * 4 * 2**25


def test_total_is_the_sum_of_what_is_listed():
    memory = train_memory(QWEN, 8, 1000)
    listed = [
        memory.weights,
        memory.gradients,
        memory.adam,
        memory.gathered,
        memory.checkpoints,
        memory.layer,
    ]
    assert memory.total == pytest.approx(sum(listed) + memory.logits_chunked + 2 * GIB)
    assert memory.total_whole_logits == pytest.approx(sum(listed) + memory.logits_whole + 2 * GIB)


def test_cache_of_the_rollout_engine_by_hand():
    memory = rollout_memory(QWEN, GPUS["h100"], 0.6, 1, resident=5.0 * GIB)
    cache = 0.6 * 80 * GIB - 2 * 4_022_468_096 - 2 * GIB
    assert memory.cache == pytest.approx(cache)
    assert memory.kv_tokens == pytest.approx(cache / 147_456)
    assert memory.total == pytest.approx((48 + 5) * GIB)
    two = rollout_memory(QWEN, GPUS["h100"], 0.6, 2, resident=0)
    assert two.kv_tokens == pytest.approx(2 * (0.6 * 80 * GIB - 4_022_468_096 - 2 * GIB) / 147_456)


def test_no_room_for_a_cache_is_refused():
    with pytest.raises(ScapoError, match="no room for a key-value cache"):
        rollout_memory(QWEN, changed_gpu(GPUS["h100"], None, None, 10), 0.6, 1, 0)
    with pytest.raises(ScapoError, match="--rollout-memory"):
        rollout_memory(QWEN, GPUS["h100"], 1.0, 1, 0)
