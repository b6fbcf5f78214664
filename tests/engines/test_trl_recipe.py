"""Recipes and what they turn into; every recipe that ships is read and validated."""

from pathlib import Path

import pytest
import yaml

from scapo.engines.trl.recipe import load_recipe, parse_overrides
from scapo.engines.trl.settings import batch_sizes, scapo_config
from scapo.errors import ScapoError

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.yaml"))


def written(tmp_path, **content):
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump({"model": "m", "train": {"path": "d.jsonl"}} | content))
    return path


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_that_ships_is_valid(path):
    recipe = load_recipe(path)
    config = scapo_config(recipe, "out")
    sizes = recipe.rollout
    assert config.generation_batch_size == sizes["prompts"] * sizes["responses"]
    assert config.updates_per_rollout == sizes["updates"]
    assert config.max_steps > 0
    assert config.probes
    assert 0 < config.n_0 < config.max_steps
    grpo = scapo_config(load_recipe(path, ["--method.credit", "outcome"]), "out")
    assert not grpo.probes


@pytest.mark.parametrize(("size", "n_0", "steps"), [("4b", 120, 600), ("1.7b", 200, 1000)])
def test_the_qwen_recipes_are_the_paper_s(size, n_0, steps):
    config = scapo_config(load_recipe(Path(RECIPES[0]).parent / f"qwen3-{size}.yaml"), "out")
    assert (config.lambda_0, config.n_0, config.max_steps) == (0.01, n_0, steps)
    assert (config.epsilon, config.epsilon_high, config.delta, config.beta) == (0.2, 0.28, 10.0, 0.0)
    assert (config.temperature, config.top_p, config.num_generations) == (1.0, 1.0, 8)
    assert (config.learning_rate, config.lr_scheduler_type, config.weight_decay) == (1e-6, "constant", 0.01)
    assert (config.adam_beta1, config.adam_beta2, config.max_grad_norm) == (0.9, 0.999, 1.0)
    assert (config.loss_type, config.max_completion_length) == ("dapo", 16384)
    assert (config.generation_batch_size, config.updates_per_rollout) == (128 * 8, 2)


def test_batch_sizes_split_over_updates_and_processes():
    # 16 x 8 = 128 responses, 64 an update: 4 micro-batches of 8 on each of 2 processes, 8 of them a rollout
    sizes = {"prompts": 16, "responses": 8, "updates": 2, "micro_batch": 8, "max_tokens": 64}
    assert batch_sizes(sizes, processes=2) == {
        "num_generations": 8,
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 4,
        "steps_per_generation": 8,
        "max_completion_length": 64,
    }


@pytest.mark.parametrize(
    ("rollout", "sentence"),
    [
        ({"prompts": 5, "updates": 2}, "rollout.prompts is 5 and rollout.updates is 2"),
        (
            {"prompts": 4, "responses": 4, "micro_batch": 16},
            "One update has 8 responses .*micro_batch 16 x 1",
        ),
        ({"prompts": 0}, "rollout.prompts is 0; it must be a whole number"),
        ({"responses": "many"}, "rollout.responses is 'many'"),
    ],
)
def test_sizes_that_do_not_divide_are_refused(tmp_path, rollout, sentence):
    with pytest.raises(ScapoError, match=sentence):
        scapo_config(load_recipe(written(tmp_path, rollout=rollout)), "out")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"metod": {}}, "no setting `metod`. Did you mean `method`?"),
        ({"method": {"lamda_0": 1}}, "no setting `method.lamda_0`. Did you mean `method.lambda_0`?"),
        ({"method": {"learning_rate": 1}}, "Did you mean `trainer.learning_rate`?"),
        ({"learning_rate": 1}, "Did you mean `trainer.learning_rate`?"),
        ({"trainer": {"lambda_0": 1}}, "Did you mean `method.lambda_0`?"),
        ({"method": 3}, "`method` must hold settings of its own"),
        ({"model": ""}, "does not say `model`"),
        ({"train": {"columns": {}}}, "does not say `train.path`"),
    ],
)
def test_unknown_keys_name_the_nearest_known_one(tmp_path, content, sentence):
    with pytest.raises(ScapoError) as error:
        load_recipe(written(tmp_path, **content))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "is not valid YAML"),
        ("- a", "must hold `key: value` lines"),
        ("", "must hold `key: value` lines"),
    ],
)
def test_files_that_are_no_recipes(tmp_path, text, sentence):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ScapoError, match=sentence):
        load_recipe(path)
    with pytest.raises(ScapoError, match="is not a file"):
        load_recipe(tmp_path / "none.yaml")


def test_overrides_are_read_as_yaml_and_win():
    assert parse_overrides(["--a.b", "1e-6", "--c=true", "--d", "[x, 2]", "--e", "-1"]) == [
        ("a.b", "1e-6"),  # YAML 1.1 reads this as a text; the field's type makes it a number
        ("c", True),
        ("d", ["x", 2]),
        ("e", -1),
    ]
    for words, sentence in (
        (["a"], "Expected --key value"),
        (["--a"], "no value"),
        (["--a", "--b", "1"], "no value"),
    ):
        with pytest.raises(ScapoError, match=sentence):
            parse_overrides(words)


def test_numbers_arrive_in_the_field_s_type(tmp_path):
    recipe = load_recipe(
        written(
            tmp_path,
            trainer={"learning_rate": "2e-5", "max_steps": 3.0, "save_strategy": False},
            method={"n_0": 7},
        )
    )
    config = scapo_config(recipe, "out")
    assert (config.learning_rate, config.max_steps, config.n_0) == (2e-5, 3, 7)
    assert config.save_strategy == "no"  # a bare `no` in YAML
    for trainer, sentence in (
        ({"learning_rate": "fast"}, "learning_rate is 'fast'; it must be a number"),
        ({"max_steps": 2.5}, "max_steps is 2.5; it must be a whole number"),
        ({"bf16": "maybe"}, "bf16 is 'maybe'; it must be true or false"),
        ({"num_generations": 4}, "trainer.num_generations follows from rollout.responses"),
        ({"per_device_eval_batch_size": 3, "eval_strategy": "steps"}, "The trainer refuses"),
    ):
        with pytest.raises(ScapoError, match=sentence):
            scapo_config(load_recipe(written(tmp_path, trainer=trainer)), "out")
