"""Decoding: by hand, against published measurements, and its scheduling."""

import numpy as np
import pytest

from scapo.errors import ScapoError
from scapo.plan.hardware import GPUS, Efficiency
from scapo.plan.lengths import assumed_lengths, dealt, measured_lengths, padded
from scapo.plan.model_shape import SHAPES
from scapo.plan.rollout import Engine, decode, rollout

IDEAL = Efficiency(utilisation=1, forward_utilisation=1, bandwidth=1, step_overhead_s=0)


def engine(model: str = "qwen3-4b", efficiency: Efficiency = IDEAL, **changes) -> Engine:
    settings = {"tensor_parallel": 1, "kv_tokens": 1e9, "max_running": 10_000} | changes
    return Engine(shape=SHAPES[model], gpu=GPUS["h100"], efficiency=efficiency, **settings)


# Qwen3-8B, vLLM, one H100, replies to GPQA: batch, median milliseconds between tokens, and mean and standard
# deviation of the reply length from the published histograms; prompts of about 250 tokens (assumed).
PUBLISHED = [
    (8, 9.704, 7839, 4029),
    (16, 11.912, 7865, 3807),
    (32, 16.871, 8184, 4354),
    (64, 26.642, 8378, 4507),
]


@pytest.mark.parametrize(("batch", "milliseconds", "mean", "deviation"), PUBLISHED)
def test_published_decoding_steps_are_met_within_four_percent(batch, milliseconds, mean, deviation):
    # a running reply is met at a random token of it: long ones more often, and on average half done
    context = 250 + (mean**2 + deviation**2) / (2 * mean)
    seconds = engine("qwen3-8b", Efficiency()).decode_seconds(1, batch, batch * context)
    assert 1e3 * seconds == pytest.approx(milliseconds, rel=0.04)


def test_one_sequence_by_hand():
    # two steps: weights twice, caches of 100 and 101 tokens, at 3.35 TB/s; arithmetic is far below that
    shape = SHAPES["qwen3-4b"]
    moved = 2 * 2 * shape.read_params + (100 + 101) * 147_456
    assert engine().decode_seconds(2, 1, 100) == pytest.approx(moved / 3.35e12, rel=1e-12)


def test_many_short_sequences_are_bound_by_arithmetic():
    # 10,000 sequences with a context of one token: 2 FLOPs per weight and token, and attention to one token
    shape = SHAPES["qwen3-4b"]
    work = 1e4 * (2 * (36 * shape.layer_matmul_params + shape.head_params) + 4 * 36 * 32 * 128)
    seconds = engine().decode_seconds(1, 10_000, 10_000)
    assert seconds == pytest.approx(work / 989e12, rel=1e-12)
    assert seconds > 2 * shape.read_params / 3.35e12  # reading would be faster


def test_two_gpus_of_an_engine_halve_reading_and_not_the_overhead():
    slow = engine(efficiency=Efficiency(bandwidth=1, step_overhead_s=0.5))
    fast = engine(efficiency=Efficiency(bandwidth=1, step_overhead_s=0.5), tensor_parallel=2)
    assert fast.decode_seconds(3, 4, 40) - 1.5 == pytest.approx((slow.decode_seconds(3, 4, 40) - 1.5) / 2)


def test_decoding_is_the_sum_of_its_steps():
    one = engine()
    lengths = np.array([3, 1, 5])
    expected, context = 0.0, [10.0, 10.0, 10.0]
    for step in range(5):  # step by step, without skipping to the next end
        running = [n for n in range(3) if lengths[n] > step]
        expected += one.decode_seconds(1, len(running), sum(context[n] for n in running))
        for n in running:
            context[n] += 1
    done = decode(one, 10, lengths)
    assert done.seconds == pytest.approx(expected, rel=1e-12)
    assert done.running == pytest.approx(9 / 5)


def test_the_longest_response_sets_the_end():
    short = decode(engine(), 10, np.full(64, 100))
    straggler = decode(engine(), 10, np.array([100] * 63 + [1000]))
    assert straggler.seconds > 4 * short.seconds
    assert straggler.tail_seconds == pytest.approx(
        straggler.seconds - decode(engine(), 10, np.array([100] * 64)).seconds
    )
    assert short.tail_seconds == 0


def test_a_full_cache_puts_the_newest_back_and_everyone_finishes():
    lengths = np.full(10, 100)
    free, tight = decode(engine(), 10, lengths), decode(engine(kv_tokens=600), 10, lengths)
    assert free.preempted == 0
    assert tight.preempted > 0
    assert tight.seconds > free.seconds


def test_fewer_sequences_at_a_time_take_longer():
    lengths = np.full(10, 100)
    assert decode(engine(max_running=5), 10, lengths).seconds > 1.5 * decode(engine(), 10, lengths).seconds


def test_a_response_that_cannot_fit_is_refused():
    with pytest.raises(ScapoError, match="--tensor-parallel"):
        decode(engine(kv_tokens=109), 10, np.full(2, 100))
    assert decode(engine(kv_tokens=110), 10, np.full(2, 100)).seconds > 0


def test_the_slowest_engine_counts():
    lengths = np.array([100, 100, 100, 1000])
    both = rollout(engine(), 2, 10, lengths, group=1)
    alone = max(decode(engine(), 10, hand).seconds for hand in dealt(lengths, 2))
    assert both.seconds == pytest.approx(alone + engine().prefill_seconds(10) * 4 / 2)


@pytest.mark.parametrize("mean", [20, 300, 4096, 12_000, 16_384])
def test_assumed_lengths_have_the_mean_and_keep_the_limit(mean):
    lengths = assumed_lengths(1024, mean, 16_384)
    assert lengths.mean() == pytest.approx(mean, rel=2e-3)
    assert lengths.min() >= 1
    assert lengths.max() <= 16_384


def test_spread_of_assumed_lengths():
    lengths = assumed_lengths(4096, 1000, 10**6, cv=0.5)  # no cut: the spread is as asked
    assert lengths.std() / lengths.mean() == pytest.approx(0.5, rel=0.03)
    assert assumed_lengths(8, 1000, 10**6, cv=0).tolist() == [1000] * 8


@pytest.mark.parametrize(("mean", "cv"), [(0, 0.8), (101, 0.8), (50, -1)])
def test_impossible_lengths_are_refused(mean, cv):
    with pytest.raises(ScapoError):
        assumed_lengths(8, mean, 100, cv)


def test_measured_lengths_come_from_a_run(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(f'{{"tokens": {n}}}\n' for n in (40, 10, 30, 20)))
    assert measured_lengths(path, 4, 35).tolist() == [
        14,
        21,
        29,
        35,
    ]  # quantiles 1/8, 3/8, ... of 10..40, cut
    path.write_text('{"tokens": 3}\n{"completion": "x"}\n')
    with pytest.raises(ScapoError, match="line 2"):
        measured_lengths(path, 4, 35)
    path.write_text("")
    with pytest.raises(ScapoError, match="no rows"):
        measured_lengths(path, 4, 35)


def test_padding_by_hand():
    lengths = np.array([1, 8, 2, 7, 3])
    assert padded(lengths, 2, ordered=True).tolist() == [8, 8, 3, 3, 1]
    assert padded(lengths, 5, ordered=False).tolist() == [8] * 5
    assert padded(lengths, 1, ordered=False).sum() == lengths.sum()
