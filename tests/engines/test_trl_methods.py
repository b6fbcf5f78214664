"""Every named method in ScapoTrainer on a tiny random model."""

import itertools
import json
from pathlib import Path

import pytest
import torch
from datasets import Dataset

from scapo.algorithm import METHODS, Gspo
from scapo.engines.offsets import text_and_offsets
from scapo.engines.trl import ScapoConfig, ScapoTrainer
from scapo.engines.trl.method import method_label, method_settings
from scapo.engines.trl.objective import chosen_objective, own_loss
from scapo.engines.trl.recipe import load_recipe
from scapo.engines.trl.settings import scapo_config
from scapo.errors import ScapoError

OTHERS = {"gspo": {"objective": "gspo"}, "sapo": {"objective": "sapo"}, "fipo": {"credit": "fipo"}}


@pytest.fixture
def build(tiny_folder, tiny_tokenizer, rows, reward, settings):
    """A ready trainer on a fresh copy of the tiny model, on one micro-batch of 8 responses a step."""
    from transformers import AutoModelForCausalLM

    def make(rewards=reward, data=None, **changes):
        return ScapoTrainer(
            AutoModelForCausalLM.from_pretrained(tiny_folder, dtype="float32"),
            rewards,
            ScapoConfig(**settings(**{"credit": "outcome"} | changes)),
            train_dataset=Dataset.from_list(data or rows),
            processing_class=tiny_tokenizer,
        )

    return make


@pytest.fixture(scope="module")
def base_losses():
    """Losses per base method, trained once for all its variants."""
    return {}


def record(trainer):
    """Loss and gradient of every micro-batch, and the inputs it was made of; the training goes on."""
    found, compute = [], trainer._compute_loss

    def keep(model, inputs):
        loss = compute(model, inputs)
        weights = [p for p in model.parameters() if p.requires_grad]
        gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, weights, retain_graph=True)])
        found.append((loss.item(), gradient, inputs))
        return loss

    trainer._compute_loss = keep
    trainer.train()
    return found


RECIPE = Path(__file__).parents[2] / "recipes" / "quickstart.yaml"


@pytest.mark.parametrize("name", METHODS)
def test_the_world_s_recipe_with_a_method_s_name_is_that_method(name):
    recipe = load_recipe(RECIPE, ["--method.name", name])
    config = scapo_config(recipe, "out")
    assert {key: getattr(config, key) for key in method_settings(name)} == method_settings(name)
    assert config.probes == name.startswith("scapo")
    assert recipe.label == method_label(name)


def test_other_keys_win_over_a_name_in_the_same_place_and_a_later_name_over_the_file(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(
        "{model: m, train: {path: d.jsonl}, label: Mine, method: {name: gspo, credit: semifactual, n_0: 7}, "
        "trainer: {max_steps: 2, loss_type: grpo}, rollout: {prompts: 2, micro_batch: 8}}"
    )
    mixed = scapo_config(load_recipe(path), "out")
    assert (mixed.objective, mixed.credit, mixed.n_0, mixed.loss_type) == ("gspo", "semifactual", 7, "grpo")
    assert load_recipe(path).label == "Mine"
    words = ["--method.credit", "fipo", "--method.name", "dr_grpo"]
    later = load_recipe(path, words)
    assert (later.method["objective"], later.method["credit"], later.method["n_0"]) == ("clipped", "fipo", 7)
    assert (later.trainer["loss_type"], later.label) == ("dr_grpo", "Dr.GRPO")
    assert load_recipe(path, [*words, "--label", "X"]).label == "X"
    with pytest.raises(ScapoError, match="no method 'ppo'; known are grpo"):
        load_recipe(path, ["--method.name", "ppo"])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_trains_and_says_so(build, name):
    trainer = build(**method_settings(name), max_steps=2)
    before = {key: p.clone() for key, p in trainer.model.named_parameters()}
    trainer.train()
    moved = [not torch.equal(p, before[key]) for key, p in trainer.model.named_parameters()]
    metrics = [
        json.loads(line) for line in Path(trainer.args.output_dir, "metrics.jsonl").read_text().splitlines()
    ]
    assert any(moved)
    assert all(p.isfinite().all() for p in trainer.model.parameters())
    assert [row["step"] for row in metrics] == [1, 2]
    assert all({"loss", "entropy", "grad_norm"} <= set(row) for row in metrics)
    assert ("drift/mean" in metrics[0]) == name.startswith("scapo")


def test_gspo_sapo_and_fipo_are_grpo_on_the_first_step_after_a_rollout_and_differ_on_the_second(build):
    grpo = record(build(max_steps=2))
    for changes in OTHERS.values():
        other = record(build(max_steps=2, **changes))
        torch.testing.assert_close(other[0][1], grpo[0][1], rtol=1e-3, atol=1e-6)
        apart = (other[1][1] - grpo[1][1]).norm() / grpo[1][1].norm()
        assert apart > 1e-3, changes


@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "bnpo", "dr_grpo"])
def test_our_loss_is_trl_s_where_both_have_it(build, loss_type):
    """The clipped objective through own_loss, on both steps of a rollout, with two micro-batches a step."""
    trainer = build(max_steps=2, loss_type=loss_type, per_device_train_batch_size=4, steps_per_generation=4,
                    gradient_accumulation_steps=2)  # fmt: skip
    objective, pairs, compute = chosen_objective(trainer.args), [], trainer._compute_loss

    def both(model, inputs):
        theirs = compute(model, inputs)
        ours = own_loss(trainer, model, inputs, objective)
        grads = [
            torch.autograd.grad(loss, list(model.parameters()), retain_graph=True) for loss in (theirs, ours)
        ]
        pairs.append((theirs, ours, *(torch.cat([g.flatten() for g in grad]) for grad in grads)))
        return theirs

    trainer._compute_loss = both
    trainer.train()
    assert len(pairs) == 4
    for theirs, ours, gradient, our_gradient in pairs:
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)
        torch.testing.assert_close(our_gradient, gradient, rtol=1e-4, atol=1e-7)
    assert any(gradient.abs().max() > 0 for *_, gradient, _ in pairs)


@pytest.mark.parametrize(
    ("variant", "base"),
    [
        *((name, "grpo") for name in ("scapo", "scapo_shuffled", "scapo_counterfactual", "scapo_all")),
        ("scapo_positive", "grpo"),
        ("scapo_gspo", "gspo"),
        ("scapo_sapo", "sapo"),
    ],
)
def test_without_lambda_a_semifactual_variant_is_its_base_bit_for_bit(build, base_losses, variant, base):
    if base not in base_losses:
        base_losses[base] = [loss for loss, *_ in record(build(**method_settings(base), max_steps=2))]
    losses = record(build(**method_settings(variant), lambda_0=0.0, max_steps=2))
    assert [loss for loss, *_ in losses] == base_losses[base]


def test_fipo_weights_use_the_current_policy(build):
    trainer = build(credit="fipo", max_steps=2, learning_rate=3e-3)
    weights, at_loss = [], trainer.credit.at_loss

    def keep(advantage, logp, old, mask):
        found = at_loss(advantage, logp, old, mask)
        alive = mask & (advantage != 0)[:, None]
        weights.append((found[0] / advantage[:, None])[alive])
        return found

    trainer.credit.at_loss = keep
    trainer.train()
    assert weights[0].sub(1).abs().max() < 1e-4
    assert weights[1].max() > 1.01
    assert weights[1].max() <= 1.2 + 1e-6


def test_runaway_responses_leave_the_loss_of_fipo(build):
    trainer = build(credit="fipo", max_steps=1)
    logp, mask = torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool)
    old = torch.tensor([[-3.0, -3.0, 0.0], [-3.0, 0.0, 0.0]])  # e^3 = 20 is beyond the dual clip of 10
    _, kept = trainer.credit.at_loss(torch.tensor([-1.0, -1.0]), logp, old, mask)
    assert kept.any(dim=1).tolist() == [False, True]
    all_kept = build(credit="fipo", credit_constants={"drop_runaway": False}).credit
    assert all_kept.at_loss(torch.tensor([-1.0, -1.0]), logp, old, mask)[1].all()


def spoken(trainer, texts):
    """Let the trainer "sample" given texts: the ids are its own, with its end token."""
    tokenizer = trainer.processing_class

    def generate(prompt_ids, *_, **__):
        ids = [
            [*tokenizer.encode(texts[i % len(texts)]), tokenizer.eos_token_id] for i in range(len(prompt_ids))
        ]
        return ids, None

    trainer._generate_single_turn = generate


def test_cf_grpo_weights_the_spans_and_keeps_the_mean(build):
    trainer = build(credit="cf_grpo", max_steps=1, max_completion_length=64)
    spoken(trainer, ["We add 2 + 3 = 5. It is so.\nFinal answer: 5", "no marker here"])
    rollouts, after = [], trainer.credit.after_rollout

    def keep(owner, rollout):
        found = after(owner, rollout)
        rollouts.append(rollout)
        return found

    trainer.credit.after_rollout = keep
    trainer.train()
    rollout = rollouts[0]
    for n, ids in enumerate(rollout.completion_ids):
        weight = rollout.weight_NT[n, : len(ids)]
        assert weight.mean().item() == pytest.approx(1.0, abs=1e-5)
        assert (weight.std().item() > 0.01) == (n % 2 == 0)
        assert rollout.weight_NT[n, len(ids) :].eq(1).all()


def test_entropy_top_keeps_a_fifth_of_the_batch_s_tokens(build):
    trainer = build(credit="entropy_top", max_steps=1)
    found = record(trainer)[0][2]
    assert set(found["credit_weight"].unique().tolist()) <= {0.0, 1.0}
    total = sum(float(batch["credit_weight"].sum()) for batch in trainer._buffered_inputs)
    tokens = sum(int(batch["completion_mask"].sum()) for batch in trainer._buffered_inputs)
    assert total == -(-tokens // 5)


def test_dapo_takes_dead_groups_out_of_numerator_and_denominator(build):
    def reward(completions, **_):
        return [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0] * (len(completions) // 8)

    trainer = build(rewards=reward, dead_groups="drop", max_steps=1)
    trainer.train()
    batches = trainer._buffered_inputs
    alive = torch.cat([batch["completion_mask"].any(dim=1) for batch in batches])
    assert alive.sum() == 8
    assert torch.cat([batch["advantages"] for batch in batches])[~alive].abs().max() == 0
    assert batches[0]["num_items_in_batch"] == sum(batch["completion_mask"].sum() for batch in batches)


def test_all_groups_dead_under_dapo_is_a_step_of_nothing(build):
    trainer = build(
        rewards=lambda completions, **_: [1.0] * len(completions), dead_groups="drop", max_steps=2
    )
    assert [loss for loss, *_ in record(trainer)] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"objective": "gspo", "beta": 0.1}, "beta is 0.1, which objective 'gspo'"),
        ({"credit": "fipo", "top_entropy_quantile": 0.2}, "top_entropy_quantile is 0.2"),
        ({"objective": "gspo", "objective_constants": {"tau": 1}}, "has no constant tau"),
        (
            {"objective": "gspo", "objective_constants": {"clip_low": "x"}},
            "clip_low is 'x'; it must be a number",
        ),
        ({"objective_constants": {"clip_low": 0.1}}, "takes its constants from epsilon"),
        ({"credit": "fipo", "credit_constants": {"bounds": [1, 2]}}, "'fipo' has no constant 'bounds'"),
        ({"credit_constants": {"share": 1}}, "'outcome' has no constant 'share'; it has none"),
        ({"loss_type": "sapo"}, "choose the objective by objective="),
    ],
)
def test_settings_that_a_method_does_not_have_are_refused(settings, changes, sentence):
    with pytest.raises(ScapoError, match=sentence):
        ScapoConfig(**settings(**{"credit": "outcome"} | changes))


def test_constants_arrive(settings):
    config = ScapoConfig(**settings(objective="gspo", objective_constants={"clip_low": "1e-3"}))
    assert chosen_objective(config) == Gspo(clip_low=1e-3)


def test_a_set_without_counterfactual_rewrites_is_refused_with_the_remedy(build, rows):
    for row in rows:
        del row["perturbations"]["counterfactual"]
    with pytest.raises(ScapoError, match=r"scapo perturb .* --kinds counterfactual"):
        build(data=rows, **method_settings("scapo_counterfactual"))


def test_offsets_cover_the_text_whatever_the_bytes(tiny_tokenizer):
    ids = tiny_tokenizer.encode("2 + 3 = 5, é 漢字 🙂. <|im_end|>")
    text, offsets = text_and_offsets(tiny_tokenizer, ids)
    assert text == tiny_tokenizer.decode(ids)
    assert offsets[0][0] == 0
    assert offsets[-1][1] == len(text)
    assert all(a[1] == b[0] or a == b for a, b in itertools.pairwise(offsets))
    for i, (start, stop) in enumerate(offsets):
        own = tiny_tokenizer.decode([ids[i]])
        assert own == text[start:stop] or "\ufffd" in own


def test_offsets_of_bytes_that_form_no_character_end(tiny_tokenizer):
    broken = [tiny_tokenizer.encode("🙂")[0]] * 50
    text, offsets = text_and_offsets(tiny_tokenizer, broken)
    assert len(offsets) == 50
    assert offsets[-1][1] == len(text)
    assert text_and_offsets(tiny_tokenizer, []) == ("", [])
