"""The credits of the verl engine, without a cluster: a plain transformers model scores."""

from dataclasses import replace

import pytest
import torch

from scapo.algorithm import (
    augmented_advantage,
    group_stability,
    outcome_advantage,
    response_logprobs,
    semifactual_correction,
    span_drops,
    span_importance_weight,
    top_entropy_weight,
)
from scapo.algorithm.probe_plan import ProbeRow
from scapo.algorithm.spans import ResponseSpans
from scapo.engines.verl import credit as credit_module
from scapo.engines.verl.credit import Tools, credited
from scapo.engines.verl.method import MethodSettings
from scapo.engines.verl.rollout import Rollout, probe, steps_of_rows

T = 7
LENGTHS = [5, 7, 1, 6, 4, 7, 3, 2]
GROUPS = [4, 4, 9, 4, 9, 9, 4, 9]
"""Two prompts whose responses stand mixed, as after balancing over ranks."""
REWARDS = [1.0, 0, 0, 1, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def model():
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=40,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        initializer_range=0.3,
    )
    return Qwen3ForCausalLM(config).eval()


@pytest.fixture
def scorer(model):
    """Scores every sequence by itself and counts its calls."""

    class Scorer:
        calls = 0

        def __call__(self, sequences):
            self.calls += 1
            return [self.one(prompt, response) for prompt, response in sequences]

        @torch.no_grad()
        def one(self, prompt, response):
            ids = torch.tensor([[*prompt, *response]])
            logp = model(ids).logits[0].float().log_softmax(-1)
            return logp[len(prompt) - 1 : -1].gather(1, torch.tensor(response)[:, None])[:, 0]

    return Scorer()


@pytest.fixture
def rollout(scorer):
    generator = torch.Generator().manual_seed(1)

    def ids(count):
        return torch.randint(0, 40, (count,), generator=generator).tolist()

    prompts = {group: ids(6) for group in set(GROUPS)}
    rewrites = {4: [ids(7), ids(5)], 9: [ids(6), None]}
    responses = [ids(length) for length in LENGTHS]
    logp_NT = torch.zeros(8, T)
    for n, (group, response) in enumerate(zip(GROUPS, responses, strict=True)):
        logp_NT[n, : len(response)] = scorer.one(prompts[group], response)
    mask_NT = torch.arange(T) < torch.tensor(LENGTHS)[:, None]
    return Rollout(
        step_N=torch.ones(8, dtype=torch.long),
        group_N=torch.tensor(GROUPS),
        reward_N=torch.tensor(REWARDS),
        mask_NT=mask_NT,
        logp_NT=logp_NT,
        entropy_NT=torch.rand(8, T, generator=generator),
        prompt_ids=[prompts[group] for group in GROUPS],
        response_ids=responses,
        rewrites=[rewrites[group] for group in GROUPS],
    )


def tools(scorer, **section):
    return Tools(method=MethodSettings.of({"noise_rows": 2} | section), score=scorer, seed=3)


def test_drift_equals_the_probe_of_the_other_engine(model, rollout, scorer):
    found = probe(rollout, 3, scorer)
    rows = [
        ProbeRow(clean=clean, perturbed=perturbed, response=response)
        for clean, perturbed, response in zip(
            rollout.prompt_ids, rollout.rewrites, rollout.response_ids, strict=True
        )
    ]
    theirs = response_logprobs(model, rows, noise_rows=0)
    assert scorer.calls == 1
    assert torch.equal(found.present_KN, theirs.present)
    assert found.present_KN.sum() == 12  # 8 rows of the first rewrite, the 4 of group 4 of the second
    expected = theirs.drift.nan_to_num(0.0).masked_fill(~theirs.mask, 0.0)
    torch.testing.assert_close(found.drift_KNT, expected, rtol=0, atol=1e-5)
    assert float(expected.max()) > 0.1
    assert len(found.noise_M) == 5 + 6 + 3  # rows 0, 3 and 6 again, scored by themselves as before:
    assert float(found.noise_M.abs().max()) == 0.0


def test_advantages_are_those_of_the_algorithm(rollout, scorer):
    given = tools(scorer, lambda_0=0.5, n_0=1)
    found = credited(rollout, given)
    drift = probe(rollout, 0, scorer)
    u_NT = group_stability(drift.drift_KNT, rollout.mask_NT, rollout.group_N, drift.present_KN)
    expected = augmented_advantage(
        outcome_advantage(rollout.reward_N, rollout.group_N),
        semifactual_correction(u_NT, rollout.mask_NT),
        0.5,
    ).masked_fill(~rollout.mask_NT, 0.0)
    assert torch.equal(found.advantage_NT, expected)
    assert torch.equal(found.mask_NT, rollout.mask_NT)
    assert found.metrics["credit/dead_groups"] == 0.5  # all four responses of prompt 9 got 0
    assert found.metrics["scapo/lambda"] == 0.5
    assert found.metrics["drift/noise_floor"] == 0.0
    assert 0 < found.metrics["credit/share_corrected"] < 1


def test_the_order_of_rows_changes_nothing(rollout, scorer):
    order = [5, 2, 7, 0, 3, 6, 1, 4]
    shuffled = Rollout(
        **{
            name: value[order] if isinstance(value, torch.Tensor) else [value[n] for n in order]
            for name, value in vars(rollout).items()
        }
    )
    plain = credited(rollout, tools(scorer, lambda_0=0.5)).advantage_NT
    torch.testing.assert_close(
        credited(shuffled, tools(scorer, lambda_0=0.5)).advantage_NT, plain[order], rtol=0, atol=1e-6
    )


def test_lambda_is_that_of_the_optimiser_step_each_row_feeds(rollout, scorer):
    first = credited(replace(rollout, step_N=torch.full((8,), 3)), tools(scorer, lambda_0=0.5, n_0=3))
    both = credited(
        replace(rollout, step_N=torch.tensor([3, 3, 4, 4] * 2)), tools(scorer, lambda_0=0.5, n_0=3)
    )
    plain = outcome_advantage(rollout.reward_N, rollout.group_N)[:, None].expand(8, T)
    late = torch.tensor([False, False, True, True] * 2)
    assert torch.equal(both.advantage_NT[~late], first.advantage_NT[~late])
    assert torch.equal(both.advantage_NT[late], (plain * rollout.mask_NT)[late])
    assert not torch.equal(first.advantage_NT[late], both.advantage_NT[late])


@pytest.mark.parametrize(
    "section", [{"credit": "outcome"}, {"lambda_0": 0.0}, {"n_0": 4}, {"credit": "fipo"}]
)
def test_lambda_0_is_grpo_and_scores_nothing(rollout, scorer, section):
    rollout.step_N += 4  # step 5
    rollout.rewrites = []
    found = credited(rollout, tools(scorer, **section))
    plain = outcome_advantage(rollout.reward_N, rollout.group_N)[:, None].expand(8, T)
    assert torch.equal(found.advantage_NT, plain * rollout.mask_NT)
    assert scorer.calls == 0


def test_rows_feed_updates_by_rank_and_order():
    # 16 rows, 2 ranks, updates of 8 rows: each rank's slice of 8 gives 4 rows to either update.
    assert steps_of_rows(5, 16, 2, 8).tolist() == [5, 5, 5, 5, 6, 6, 6, 6] * 2
    assert steps_of_rows(1, 8, 4, 8).tolist() == [1] * 8


def test_dead_groups_leave_the_correction_or_the_loss(rollout, scorer):
    dead = rollout.group_N == 9
    skipped = credited(rollout, tools(scorer, dead_groups="skip", lambda_0=0.5))
    assert float(skipped.advantage_NT[dead].abs().sum()) == 0
    assert torch.equal(skipped.mask_NT, rollout.mask_NT)
    dropped = credited(rollout, tools(scorer, dead_groups="drop", lambda_0=0.5))
    assert torch.equal(dropped.mask_NT, rollout.mask_NT & ~dead[:, None])
    alive = rollout.mask_NT & ~dead[:, None]
    torch.testing.assert_close(dropped.advantage_NT[alive], skipped.advantage_NT[alive])


def test_an_update_of_dead_groups_only_keeps_its_tokens(rollout, scorer):
    rollout.step_N = torch.where(rollout.group_N == 9, 2, 1)
    dropped = credited(rollout, tools(scorer, credit="outcome", dead_groups="drop"))
    assert torch.equal(dropped.mask_NT, rollout.mask_NT)
    assert float(dropped.advantage_NT[rollout.group_N == 9].abs().sum()) == 0


@pytest.mark.parametrize(("sign", "low", "high"), [("negative", True, False), ("positive", False, True)])
def test_ablations_of_the_sign(rollout, scorer, sign, low, high):
    plain = outcome_advantage(rollout.reward_N, rollout.group_N)[:, None]
    given = credited(rollout, tools(scorer, lambda_0=0.5, sign=sign)).advantage_NT
    change = (given - plain)[rollout.mask_NT]
    assert (bool((change < -1e-4).any()), bool((change > 1e-4).any())) == (low, high)


def test_shuffled_keeps_each_response_s_corrections(rollout, scorer):
    aligned = credited(rollout, tools(scorer, lambda_0=0.5)).advantage_NT
    shuffled = credited(rollout, tools(scorer, lambda_0=0.5, source="shuffled")).advantage_NT
    assert not torch.equal(aligned, shuffled)
    for a, b, mask in zip(aligned, shuffled, rollout.mask_NT, strict=True):
        torch.testing.assert_close(a[mask].sort().values, b[mask].sort().values)


def test_entropy_top_keeps_the_uncertain_fifth(rollout, scorer):
    found = credited(rollout, tools(scorer, credit="entropy_top"))
    weight = top_entropy_weight(rollout.entropy_NT, rollout.mask_NT)
    plain = outcome_advantage(rollout.reward_N, rollout.group_N)[:, None]
    assert torch.equal(found.advantage_NT, plain * weight)
    assert int(weight.sum()) == 7  # ceil(0.2 * 35 tokens)


def test_cf_grpo_masks_spans_and_scores_them_in_one_call(model, rollout, scorer, monkeypatch):
    spans = [ResponseSpans(spans=((0, 2), (2, 3)), answer=(3, n)) if n > 4 else None for n in LENGTHS]
    found = [one or ResponseSpans(spans=(), answer=None) for one in spans]
    answers = iter(found)
    monkeypatch.setattr(credit_module, "text_and_offsets", lambda tokenizer, ids: ("", []))
    monkeypatch.setattr(credit_module, "find_spans", lambda text, offsets: next(answers))

    class Tokenizer:
        pad_token_id = 0

    given = credited(rollout, replace(tools(scorer, credit="cf_grpo"), tokenizer=Tokenizer()))
    assert scorer.calls == 1
    rows = [
        ProbeRow(clean=prompt, perturbed=(), response=response)
        for prompt, response in zip(rollout.prompt_ids, rollout.response_ids, strict=True)
    ]
    drops = span_drops(model, rows, found, 0)
    weight = span_importance_weight(drops, [one.spans for one in found], rollout.mask_NT)
    plain = outcome_advantage(rollout.reward_N, rollout.group_N)[:, None]
    torch.testing.assert_close(
        given.advantage_NT, (plain * weight).masked_fill(~rollout.mask_NT, 0.0), rtol=0, atol=1e-4
    )
    assert float(weight.std()) > 0.1


def test_the_same_batch_gets_the_advantages_of_the_trl_engine(rollout, scorer, tmp_path):
    pytest.importorskip("trl")
    from scapo.engines.trl import ScapoConfig
    from scapo.engines.trl import credit as trl_credit

    section = {"lambda_0": 0.5, "n_0": 4, "dead_groups": "skip", "source": "shuffled", "sign": "all"}
    config = ScapoConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, seed=3, **section)
    theirs = trl_credit.Rollout(
        step=1,
        rows=[{}] * 8,
        prompt_ids=rollout.prompt_ids,
        completion_ids=rollout.response_ids,
        mask_NT=rollout.mask_NT,
        group_N=rollout.group_N,
        reward_N=rollout.reward_N,
        advantage_N=outcome_advantage(rollout.reward_N, rollout.group_N, "unbiased", config.advantage_eps),
        dead_N=rollout.group_N == 9,
    )
    drift = probe(rollout, 0, scorer)

    class Trainer:
        def probe(self, given):
            given.u_NT = group_stability(drift.drift_KNT, given.mask_NT, given.group_N, drift.present_KN)

    credit = trl_credit.SemifactualCredit(config)
    batch = credit.after_rollout(Trainer(), theirs) | {"advantages": theirs.advantage_N}
    ours = credited(rollout, tools(scorer, **section))
    assert torch.equal(ours.advantage_NT, credit.at_step(batch, 1).masked_fill(~rollout.mask_NT, 0.0))
