"""Properties of the time of a batch and of a run."""

from dataclasses import replace

import pytest

from scapo.errors import ScapoError
from scapo.plan.cost import batch_cost, probe_flops, run_cost
from scapo.plan.hardware import GPUS
from scapo.plan.model_shape import SHAPES
from scapo.plan.paper import OTHER, PROBE, ROLLOUT, UPDATE, check
from scapo.plan.setting import Setting
from scapo.plan.whatif import variants

SETTING = Setting(shape=SHAPES["qwen3-1.7b"], gpu=GPUS["h100"], gpus=8, prompts=16, mean=1000, response=4096)


def changed(**changes) -> Setting:
    return replace(SETTING, **changes)


def test_no_perturbations_cost_nothing():
    run = run_cost(changed(perturbations=0, rescore=True))
    assert (run.probe, run.probed, run.added) == (0, 0, 0)
    assert run.seconds == run_cost(changed(n_0=0)).seconds


def test_the_probe_is_linear_in_k_and_one_forward_pass_each():
    cost = batch_cost(changed(perturbations=3))
    assert cost.probe.flops == pytest.approx(3 * cost.old_logprobs.flops)
    assert batch_cost(changed(perturbations=3, rescore=True)).probe.flops == pytest.approx(
        4 * cost.old_logprobs.flops
    )


@pytest.mark.parametrize("phase", ["rollout", "old_logprobs", "probe", "update"])
def test_every_phase_grows_with_the_length(phase):
    seconds = [getattr(batch_cost(changed(mean=mean)), phase).seconds for mean in (250, 500, 1000, 2000)]
    assert seconds == sorted(seconds)
    assert seconds[-1] > 2 * seconds[0]


@pytest.mark.parametrize("phase", ["old_logprobs", "probe", "update"])
def test_twice_the_gpus_halve_the_passes(phase):
    one, two = batch_cost(SETTING), batch_cost(changed(gpus=16))
    assert getattr(two, phase).seconds == pytest.approx(getattr(one, phase).seconds / 2)
    assert two.rollout.seconds < one.rollout.seconds  # but not by half: the longest response stays
    assert two.rollout.seconds > one.rollout.seconds / 2


def test_only_batches_of_the_first_n_0_steps_are_probed():
    assert run_cost(changed(steps=600, n_0=120)).probed == 60
    assert run_cost(changed(steps=600, n_0=121)).probed == 61  # a batch that holds one of them is probed
    assert run_cost(changed(steps=600, n_0=9000)).probed == 300
    assert run_cost(changed(steps=5, updates=2)).batches == 3


def test_a_run_by_hand():
    cost = batch_cost(SETTING)
    run = run_cost(changed(steps=10, n_0=4))
    assert run.seconds == pytest.approx(5 * cost.seconds + 2 * cost.probe.seconds)
    assert run.added == pytest.approx(2 * cost.probe.seconds / (5 * cost.seconds))


def test_early_responses_count_only_while_the_probe_runs():
    early, late = batch_cost(SETTING, 300), batch_cost(SETTING)
    run = run_cost(changed(steps=10, n_0=4, early_mean=300))
    assert run.update == pytest.approx(2 * early.update.seconds + 3 * late.update.seconds)
    assert run.probe == pytest.approx(2 * early.probe.seconds)


def test_sharing_prompts_saves_their_passes_only():
    whole, shared = batch_cost(SETTING).probe.flops, batch_cost(changed(share_prompts=True)).probe.flops
    no_prompt = batch_cost(changed(share_prompts=True, prompt=1)).probe.flops
    assert no_prompt < shared < whole
    rows, kept = SETTING.rows, SETTING.prompts
    tokens = 4 * (rows - kept) * SETTING.prompt  # K passes; seven of eight prompt passes fall away
    assert whole - shared == pytest.approx(2 * tokens * 28 * SETTING.shape.layer_matmul_params, rel=0.01)


def test_padding_wastes_less_when_rows_are_sorted():
    lengths = SETTING.row_lengths()
    packed, ordered, mixed = (
        probe_flops(changed(padding=p), lengths) for p in ("packed", "sorted", "unsorted")
    )
    assert packed < ordered < 1.2 * packed
    assert mixed > 1.5 * packed


def test_variants_change_one_thing_and_start_with_the_given():
    cost = batch_cost(SETTING)
    found = variants(SETTING, cost, cost)
    assert found[0].run == run_cost(SETTING)
    assert found[0].change == "as given"
    assert len({one.change for one in found}) == len(found) == 12
    by_name = {one.change: one for one in found}
    assert by_name["K = 0"].run.added == 0
    assert by_name["K = 8"].run.added == pytest.approx(2 * found[0].run.added)
    assert by_name["N_0 = 600 (100 %)"].run.probe == pytest.approx(5 * found[0].run.probe)


def test_shares_of_the_paper_for_hopper_gpus():
    """A priori, nothing fitted: with 8 H100 and 4,000 tokens within 2 points, the probe twice too dear."""
    one = check("h100", 4000)
    assert one.rollout + one.update + one.probe == pytest.approx(1 - OTHER)
    assert one.rollout == pytest.approx(ROLLOUT, abs=0.02)
    assert one.update == pytest.approx(UPDATE, abs=0.02)
    assert one.probe / PROBE == pytest.approx(2, abs=0.1)
    assert 0.3 < one.early_length < 0.6


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gpus": 0}, "--gpus is 0"),
        ({"perturbations": -1}, "--perturbations is -1"),
        ({"tensor_parallel": 3}, "engines of 3"),
        ({"updates": 3}, "over 3 optimiser steps"),
        ({"padding": "none"}, "packed, sorted, unsorted"),
    ],
)
def test_impossible_sizes_are_refused(changes, says):
    with pytest.raises(ScapoError, match=says):
        changed(**changes)
