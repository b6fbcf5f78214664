"""Settings that contradict the method or each other are refused by a sentence, before a model loads."""

import pytest

from scapo.engines.trl import ScapoConfig, ScapoTrainer
from scapo.engines.trl.prompts import perturbed_prompt
from scapo.errors import ScapoError


def config(**changes):
    return ScapoConfig(output_dir="out", use_cpu=True, bf16=False, **changes)


def test_defaults_are_the_paper_s():
    found = config()
    assert (found.credit, found.objective, found.sign, found.source) == (
        "semifactual",
        "clipped",
        "negative",
        "aligned",
    )
    assert (found.lambda_0, found.n_0, found.dead_groups, found.advantage_eps) == (0.01, 120, "keep", 1e-6)
    assert (found.learning_rate, found.lr_scheduler_type, found.weight_decay) == (1e-6, "constant", 0.01)
    assert (found.adam_beta1, found.adam_beta2, found.max_grad_norm, found.beta) == (0.9, 0.999, 1.0, 0.0)
    assert (found.epsilon, found.epsilon_high, found.delta, found.loss_type) == (0.2, 0.28, 10.0, "dapo")
    assert (found.num_generations, found.temperature, found.top_p, found.top_k) == (8, 1.0, 1.0, 0)
    assert found.probed_kinds == ("paraphrase", "typo_noise", "scenario_wrap", "irrelevant_context")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"credit": "semi"}, "credit is 'semi'; it must be one of 'semifactual', 'outcome'"),
        ({"sign": "plus"}, "sign is 'plus'"),
        ({"source": "random"}, "source is 'random'"),
        ({"dead_groups": "never"}, "dead_groups is 'never'"),
        ({"kinds": ["typo"]}, "kinds holds 'typo'; a kind is one of paraphrase"),
        ({"lambda_0": -1.0}, "lambda_0 is -1.0"),
        ({"n_0": -1}, "n_0 is -1"),
        ({"loss_type": "cispo"}, "objective is 'clipped', but loss_type is 'cispo'"),
        ({"importance_sampling_level": "sequence"}, "importance_sampling_level is 'sequence'"),
        ({"delta": 1.2}, "delta .* is 1.2, not above"),
        ({"steps_per_generation": 3, "gradient_accumulation_steps": 2}, "One must divide the other"),
        (
            {"use_transformers_continuous_batching": True},
            "use_transformers_continuous_batching is not supported",
        ),
        ({"use_liger_kernel": True}, "use_liger_kernel is not supported"),
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"probe_tokens": 0}, "probe_tokens is 0"),
        ({"noise_rows": -1}, "noise_rows is -1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_refusals(changes, sentence):
    with pytest.raises(ScapoError, match=sentence):
        config(**changes)


def test_sharded_models_are_refused_only_with_probing():
    config(fsdp="full_shard", credit="outcome")
    with pytest.raises(ScapoError, match="FSDP and DeepSpeed ZeRO-3"):
        config(fsdp="full_shard")


def test_the_trainer_refuses_what_it_cannot_probe_before_loading_a_model():
    from datasets import Dataset

    data = Dataset.from_list([{"prompt": "a", "answer": "b"}])
    with pytest.raises(ScapoError, match=r"no column 'perturbations'; found prompt, answer.*scapo perturb"):
        ScapoTrainer("no/such-model", lambda **_: [], config(), train_dataset=data)
    with pytest.raises(ScapoError, match="tools is not supported with probing"):
        ScapoTrainer("no/such-model", lambda **_: [], config(), train_dataset=data, tools=[print])
    with pytest.raises(ScapoError, match="needs args=ScapoConfig"):
        ScapoTrainer("no/such-model", lambda **_: [], None, train_dataset=data)


# A row's perturbed prompt.

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q: 1+1?\n\nUse a box."}]


def prompt(row, kind="typo_noise"):
    return perturbed_prompt(row, kind, "perturbations", "problem")


def test_a_text_rewrite_keeps_the_template_around_the_problem():
    row = {"prompt": CHAT, "problem": "1+1?", "perturbations": {"typo_noise": "1+1 ?"}}
    assert prompt(row) == [CHAT[0], {"role": "user", "content": "Q: 1+1 ?\n\nUse a box."}]
    assert row["prompt"] is CHAT
    assert CHAT[1]["content"] == "Q: 1+1?\n\nUse a box."


def test_without_a_problem_column_a_rewrite_is_the_whole_message():
    assert prompt({"prompt": CHAT, "perturbations": {"typo_noise": "new"}})[1]["content"] == "new"
    assert prompt({"prompt": "old text", "perturbations": {"typo_noise": "new"}}) == "new"


def test_a_chat_rewrite_is_used_as_it_is():
    chat = [{"role": "user", "content": "new"}]
    assert prompt({"prompt": CHAT, "problem": "1+1?", "perturbations": {"typo_noise": chat}}) == chat


@pytest.mark.parametrize(
    "perturbations", [None, {}, {"typo_noise": None}, {"paraphrase": "x"}, {"typo_noise": ""}]
)
def test_an_absent_rewrite_is_none(perturbations):
    assert prompt({"prompt": CHAT, "problem": "1+1?", "perturbations": perturbations}) is None


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            {"prompt": CHAT, "problem": "2+2?", "perturbations": {"typo_noise": "x"}},
            "does not stand in the prompt",
        ),
        ({"prompt": CHAT, "perturbations": {"typo_noise": 3}}, "holds a int for kind 'typo_noise'"),
        ({"prompt": "text", "perturbations": {"typo_noise": CHAT}}, "use one form"),
        ({"prompt": CHAT[:1], "perturbations": {"typo_noise": "x"}}, "no user message"),
    ],
)
def test_rewrites_that_do_not_fit_the_prompt(row, sentence):
    with pytest.raises(ScapoError, match=sentence):
        prompt(row)
