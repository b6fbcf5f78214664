"""ScapoTrainer on a tiny random model: the method's numbers, against TRL and against slow loops."""

import json
import re
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from scapo.engines.trl import ScapoConfig, ScapoTrainer


@pytest.fixture
def build(tiny_folder, tiny_tokenizer, rows, reward, settings):
    """A ready trainer on a fresh copy of the tiny model."""
    from transformers import AutoModelForCausalLM

    def make(
        trainer_class=ScapoTrainer, data=None, rewards=reward, tokenizer=tiny_tokenizer, model=None, **changes
    ):
        config_class = ScapoConfig if trainer_class is ScapoTrainer else GRPOConfig
        kept = {k: v for k, v in changes.items() if not k.startswith("trainer_")}
        extra = {k.removeprefix("trainer_"): v for k, v in changes.items() if k.startswith("trainer_")}
        return trainer_class(
            model or AutoModelForCausalLM.from_pretrained(tiny_folder, dtype="float32"),
            rewards,
            config_class(**settings(**kept)),
            train_dataset=Dataset.from_list(data or rows),
            processing_class=tokenizer,
            **extra,
        )

    return make


def recorded(trainer):
    """Keep every rollout that the trainer hands to its credit."""
    rollouts, after_rollout = [], trainer.credit.after_rollout

    def keep(owner, rollout):
        found = after_rollout(owner, rollout)
        rollouts.append(rollout)
        return found

    trainer.credit.after_rollout = keep
    return rollouts


def losses(trainer):
    """The loss of every micro-batch, exactly as it is differentiated."""
    found, compute = [], trainer._compute_loss

    def keep(model, inputs):
        loss = compute(model, inputs)
        found.append(loss.item())
        return loss

    trainer._compute_loss = keep
    trainer.train()
    return found


def lines(trainer, name="metrics.jsonl"):
    with open(f"{trainer.args.output_dir}/{name}") as file:
        return [json.loads(line) for line in file]


# GRPO is SCAPO with lambda = 0.


@pytest.mark.parametrize("grpo", [{"lambda_0": 0.0}, {"credit": "outcome"}])
def test_without_lambda_every_loss_is_stock_trl_bit_for_bit(build, grpo):
    paper = {"epsilon_high": 0.28, "delta": 10.0, "lr_scheduler_type": "constant", "weight_decay": 0.01}
    stock = losses(build(GRPOTrainer, max_steps=6, **paper))
    ours = losses(build(max_steps=6, advantage_eps=None, **grpo))
    assert stock == ours
    assert len(set(stock)) == 6


def test_without_lambda_nothing_is_probed_and_no_rewrites_are_needed(build, rows, monkeypatch):
    monkeypatch.setattr("scapo.engines.trl.probe.response_logprobs", lambda *a, **k: pytest.fail("probed"))
    plain = [{"prompt": row["prompt"]} for row in rows]
    trainer = build(data=plain, credit="outcome", max_steps=2)
    trainer.train()
    assert [row["lambda"] for row in lines(trainer)] == [0.0, 0.0]


def test_lambda_changes_the_loss_up_to_n_0_and_only_then(build):
    grpo = losses(build(max_steps=4, credit="outcome", learning_rate=0.0))
    scapo = losses(build(max_steps=4, n_0=3, lambda_0=0.5, learning_rate=0.0))
    assert [a == b for a, b in zip(grpo, scapo, strict=True)] == [False, False, False, True]


def test_after_n_0_no_probe_runs(build, monkeypatch):
    import scapo.engines.trl.probe as room

    calls, original = [], room.response_logprobs
    monkeypatch.setattr(room, "response_logprobs", lambda *a, **k: calls.append(1) or original(*a, **k))
    trainer = build(max_steps=6, n_0=3)  # two steps a rollout: rollouts start at steps 1, 3 and 5
    trainer.train()
    assert len(calls) == 2
    assert [row["lambda"] for row in lines(trainer)] == [0.01, 0.01, 0.01, 0.0, 0.0, 0.0]
    assert ["time/probe_s" in row for row in lines(trainer)] == [True, False, True, False, False, False]


# The numbers.


def test_u_and_loss_equal_slow_float64_loops(build, tiny_tokenizer):
    trainer = build(max_steps=1, learning_rate=0.0, lambda_0=0.5, steps_per_generation=1, temperature=0.7)
    rollouts = recorded(trainer)
    loss = losses(trainer)[0]
    rollout = rollouts[0]
    model = trainer.model.double().eval()

    u, drift = {}, {}
    for group in set(rollout.group_N.tolist()):
        members = [n for n, g in enumerate(rollout.group_N.tolist()) if g == group]
        standard = []
        for kind in trainer.args.probed_kinds:
            d = []
            for n in members:
                row = rollout.rows[n]
                clean = row["prompt"][0]["content"]
                other = clean.replace(row["problem"], row["perturbations"][kind])
                assert other != clean
                p0, pk = (
                    response_probabilities(model, tiny_tokenizer, text, rollout.completion_ids[n], 0.7)
                    for text in (clean, other)
                )
                d += [abs(a - b) / ((a + b) / 2) for a, b in zip(p0, pk, strict=True)]
            standard.append(z([-value for value in d]))
            drift.setdefault(group, []).append(d)
        u[group] = z([sum(column) / 4 for column in zip(*standard, strict=True)])

    advantage, total, tokens = group_advantages(rollout), 0.0, 0
    for group, values in u.items():
        values = iter(values)
        for n in (n for n, g in enumerate(rollout.group_N.tolist()) if g == group):
            for t in range(len(rollout.completion_ids[n])):
                expected = next(values)
                assert rollout.u_NT[n, t].item() == pytest.approx(expected, abs=2e-4)
                total += -(advantage[n] + 0.5 * min(expected, 0.0))  # ratio 1 on the first step
                tokens += 1
    assert loss == pytest.approx(total / tokens, abs=1e-4)


def response_probabilities(model, tokenizer, content, response, temperature):
    """Plain transformers: one row, no padding, full soft-max."""
    chat = [{"role": "user", "content": content}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True)["input_ids"]
    with torch.no_grad():
        logits = (
            model(input_ids=torch.tensor([prompt + response]), fused_lm_head=False).logits[0] / temperature
        )
    p = logits.softmax(dim=-1)
    return [p[len(prompt) - 1 + t, token].item() for t, token in enumerate(response)]


def z(values):
    mean = sum(values) / len(values)
    std = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    return [(v - mean) / (std + 1e-6) for v in values]


def group_advantages(rollout):
    rewards, groups, found = rollout.reward_N.tolist(), rollout.group_N.tolist(), []
    for reward, group in zip(rewards, groups, strict=True):
        own = [r for r, g in zip(rewards, groups, strict=True) if g == group]
        mean = sum(own) / len(own)
        std = (sum((r - mean) ** 2 for r in own) / (len(own) - 1)) ** 0.5
        found.append(0.0 if std == 0 else (reward - mean) / (std + 1e-6))
    return found


def test_outcome_advantage_is_trl_s_up_to_its_eps(build):
    ours, trls = [], []
    for eps, found in ((1e-4, ours), (None, trls)):
        trainer = build(max_steps=1, credit="outcome", advantage_eps=eps)
        rollouts = recorded(trainer)
        trainer.train()
        found += rollouts[0].advantage_N.tolist()
    assert ours == pytest.approx(trls, rel=1e-6)
    assert any(ours)


def test_unscored_responses_get_no_advantage_and_do_not_move_the_others(build):
    def reward(completions, **kwargs):
        return [None, 1.0, 0.0, 0.0] * (len(completions) // 4)

    trainer = build(rewards=reward, max_steps=1, credit="outcome")
    rollouts = recorded(trainer)
    trainer.train()
    # mean of (1, 0, 0) is 1/3, unbiased std sqrt((4/9 + 1/9 + 1/9) / 2) = 0.57735: 1.1547 and -0.57735
    assert rollouts[0].advantage_N.tolist()[:4] == pytest.approx(
        [0.0, 1.154699, -0.577349, -0.577349], abs=1e-5
    )


def test_an_identity_rewrite_has_no_drift_at_all(build, rows):
    for row in rows:
        row["perturbations"] = {"paraphrase": row["problem"], "typo_noise": row["problem"]}
    trainer = build(max_steps=1, kinds=["paraphrase", "typo_noise"])
    rollouts = recorded(trainer)
    trainer.train()
    assert rollouts[0].drift_NT.abs().max() == 0
    assert rollouts[0].u_NT.abs().max() == 0
    assert lines(trainer)[0]["drift/share_zero"] == 1.0


# Rows, groups, masks.


def test_a_missing_rewrite_is_left_out_and_none_at_all_gives_no_correction(build, rows):
    for row in rows[::2]:
        row["perturbations"] = {"typo_noise": row["perturbations"]["typo_noise"]}
    for row in rows[1::2]:
        row["perturbations"] = {}
    trainer = build(max_steps=2, num_generations=4, per_device_train_batch_size=16)
    rollouts = recorded(trainer)
    trainer.train()
    rollout = rollouts[0]
    has = torch.tensor([bool((row["perturbations"] or {}).get("typo_noise")) for row in rollout.rows])
    assert has.any()
    assert not has.all()
    assert torch.equal(rollout.probed_N, has)
    assert rollout.correction_NT[~has].abs().max() == 0
    assert rollout.correction_NT[has].abs().max() > 0
    assert rollout.correction_NT.isfinite().all()


@pytest.mark.parametrize(("switch", "corrected"), [("keep", True), ("skip", False)])
def test_dead_groups(build, switch, corrected):
    trainer = build(
        rewards=lambda completions, **_: [1.0] * len(completions), max_steps=1, dead_groups=switch
    )
    rollouts = recorded(trainer)
    trainer.train()
    assert rollouts[0].advantage_N.abs().max() == 0
    assert bool((rollouts[0].correction_NT != 0).any()) is corrected
    assert lines(trainer)[0]["credit/dead_groups"] == 1.0
    assert (lines(trainer)[0]["credit/dead_group_tokens"] > 0.2) is corrected


def test_truncated_responses_can_be_masked_from_statistics_and_loss(build):
    trainer = build(max_steps=2, mask_truncated_completions=True)
    rollouts = recorded(trainer)
    trainer.train()
    ended = torch.tensor([ids[-1] in (0, 2) for ids in rollouts[0].completion_ids])
    assert not ended.all()
    assert torch.equal(rollouts[0].mask_NT.any(dim=1), ended)
    assert rollouts[0].correction_NT[~ended].abs().max() == 0


@pytest.mark.parametrize("same", [False, True], ids=["pad differs", "pad is eos"])
def test_the_eos_of_a_finished_response_is_in_the_mask_and_nothing_after_it(build, tiny_tokenizer, same):
    if same:
        tiny_tokenizer.pad_token = tiny_tokenizer.eos_token
    trainer = build(max_steps=1, max_completion_length=48)
    rollouts = recorded(trainer)
    trainer.train()
    rollout = rollouts[0]
    finished = [n for n, ids in enumerate(rollout.completion_ids) if ids[-1] == tiny_tokenizer.eos_token_id]
    assert finished
    for n in finished:
        length = len(rollout.completion_ids[n])
        assert rollout.mask_NT[n].tolist() == [True] * length + [False] * (rollout.mask_NT.shape[1] - length)
        assert tiny_tokenizer.eos_token_id not in rollout.completion_ids[n][:-1]


def test_every_declared_eos_id_ends_a_response(build, tiny_model):
    tiny_model.generation_config.eos_token_id = [2, *range(50, 150)]
    trainer = build(model=tiny_model, max_steps=1, max_completion_length=24)
    rollouts = recorded(trainer)
    trainer.train()
    ends = {ids[-1] for ids in rollouts[0].completion_ids}
    assert ends <= {2, *range(50, 150)}
    assert len(ends) > 3
    assert not any(row["truncated"] for row in lines(trainer, "samples.jsonl"))


def test_shuffled_keeps_each_response_s_corrections(build):
    found = []
    for source in ("aligned", "shuffled"):
        trainer = build(max_steps=1, source=source)
        rollouts = recorded(trainer)
        trainer.train()
        found.append(rollouts[0].correction_NT)
    assert not torch.equal(*found)
    assert torch.equal(found[0].sort(dim=1).values, found[1].sort(dim=1).values)


def test_counterfactual_rewrites_are_probed_alone(build):
    trainer = build(max_steps=1, source="counterfactual")
    assert trainer.args.probed_kinds == ("counterfactual",)
    trainer.train()
    assert lines(trainer)[0]["drift/mean"] > 0


# Ways to train.


@pytest.mark.parametrize(
    "changes",
    [
        {"gradient_checkpointing": True},
        {"bf16": True},
        {"top_p": 0.9, "top_k": 20},
        {"beta": 0.04},
        {"loss_type": "dr_grpo", "scale_rewards": "none"},
        {"gradient_accumulation_steps": 2},
        {"num_iterations": 2},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_settings_that_work_with_probing(build, changes):
    trainer = build(max_steps=2, **changes)
    trainer.train()
    rows = lines(trainer)
    assert [row["step"] for row in rows] == [1, 2]
    assert rows[0]["drift/mean"] > 0
    assert rows[0]["grad_norm"] > 0


def test_lora_trains_only_the_adapter_and_probes_with_it(build):
    from peft import LoraConfig

    trainer = build(max_steps=3, trainer_peft_config=LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    before = {name: p.clone() for name, p in trainer.model.named_parameters()}
    trainer.train()
    moved = {name for name, p in trainer.model.named_parameters() if not torch.equal(p, before[name])}
    assert moved
    assert all("lora" in name for name in moved)
    assert lines(trainer)[2]["drift/mean"] > 0


def test_evaluation_is_trl_s_own_and_not_probed(build, rows, monkeypatch):
    trainer = build(
        max_steps=1,
        eval_strategy="steps",
        eval_steps=1,
        per_device_eval_batch_size=4,
        trainer_eval_dataset=Dataset.from_list([{"prompt": row["prompt"]} for row in rows[:1]]),
    )
    rollouts = recorded(trainer)
    trainer.train()
    assert len(rollouts) == 1
    assert any("eval_reward" in entry for entry in trainer.state.log_history)


# Files.


def test_metrics_and_samples_hold_what_the_docs_promise(build):
    def reward(completions, log_extra, **kwargs):
        log_extra("reason", ["wrong", "correct"] * (len(completions) // 2))
        log_extra("extracted", ["7", None] * (len(completions) // 2))
        return [0.0, 1.0] * (len(completions) // 2)

    trainer = build(rewards=reward, max_steps=2)
    trainer.train()
    first, second = lines(trainer)
    files = (Path(__file__).parents[2] / "docs/files.md").read_text()
    line = next(line for line in files.splitlines() if line.startswith("| `metrics.jsonl`"))
    promised = set(re.findall(r"`([a-z_0-9/]+)`", line.replace("<reason>", "correct")))
    assert len(promised) > 24
    assert promised | {"credit/dead_group_tokens", "credit/u_histogram", "learning_rate"} <= set(first)
    assert first["reward/reason/correct"] == 0.5
    assert sum(first["credit/u_histogram"]["counts"]) == sum(
        row["tokens"] for row in lines(trainer, "samples.jsonl")
    )
    assert "reward/mean" not in second  # the second step of a rollout samples nothing
    sample = lines(trainer, "samples.jsonl")[0]
    assert list(sample) == [
        *(
            "step",
            "problem_id",
            "completion",
            "reward",
            "reason",
            "extracted",
            "tokens",
            "truncated",
            "advantage",
        ),
        *("drift_mean", "u_negative_mean"),
    ]
    assert (sample["step"], sample["reason"], sample["extracted"]) == (1, "wrong", "7")
    assert len(lines(trainer, "samples.jsonl")) == 16


def test_all_truncated_and_all_wrong_is_said_loudly(build, caplog):
    build(
        rewards=lambda completions, **_: [0.0] * len(completions), max_steps=1, max_completion_length=2
    ).train()
    assert "cut at the length limit and every reward is 0" in caplog.text


def test_a_drift_near_its_noise_is_said_loudly(build, rows, caplog, monkeypatch):
    from scapo.algorithm.probe import ProbeResult

    monkeypatch.setattr(ProbeResult, "drift", property(lambda self: self.logp_perturbed * 0 + 1e-9))
    build(max_steps=1).train()
    assert "near its noise floor" in caplog.text
