"""Recipes of the verl engine: what they say, what they refuse, and which of verl's settings they become."""

import importlib.util

import pytest

from scapo.engines.verl.launch import train
from scapo.engines.verl.method import MethodSettings
from scapo.engines.verl.recipe import load_recipe, split_words
from scapo.engines.verl.settings import ACTOR, derived, hydra_value, loss_settings
from scapo.errors import ScapoError
from scapo.files import output_lock

RECIPE = """label: Mine
model: some/model
train: {path: train.parquet}
method: {lambda_0: 0.02, n_0: 8}
rollout: {prompts: 8, responses: 4, updates: 2, max_tokens: 32}
verl:
  trainer: {nnodes: 2, save_freq: 5}
  actor_rollout_ref.rollout: {name: vllm, +extra.deep: 1}
"""


@pytest.fixture
def recipe_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(RECIPE)
    return path


def test_sections_overrides_and_defaults(recipe_file):
    recipe = load_recipe(
        recipe_file, ["method.n_0=6", "rollout.prompts=16", "trainer.nnodes=4", "+new.key=1"]
    )
    assert (recipe.label, str(recipe.output)) == ("Mine", "runs/mine/mine")
    assert recipe.method == {"lambda_0": 0.02, "n_0": 6}
    assert recipe.rollout == {"prompts": 16, "responses": 4, "updates": 2, "max_tokens": 32}
    assert recipe.train == {"path": "train.parquet", "max_prompt_tokens": 1024}
    assert recipe.verl == {
        "trainer.nnodes": 2,
        "trainer.save_freq": 5,
        "actor_rollout_ref.rollout.name": "vllm",
        "+actor_rollout_ref.rollout.extra.deep": 1,
    }
    assert recipe.overrides == ("trainer.nnodes=4", "+new.key=1")


def test_a_label_follows_from_the_method(recipe_file):
    recipe_file.write_text(RECIPE.replace("label: Mine\n", ""))
    assert load_recipe(recipe_file).label == "SCAPO"
    assert load_recipe(recipe_file, ["method.credit=outcome"]).label == "GRPO"
    named = load_recipe(recipe_file, ["method.name=scapo_shuffled"])
    assert (named.label, str(named.output)) == ("SCAPO shuffled", "runs/mine/scapo-shuffled")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--method.n_0", "6"], "Expected key=value behind the recipe, found '--method.n_0'"),
        (["method.n0=6"], r"no setting `method.n0`. Did you mean `method.n_0`"),
        (["train.path="], "does not say `train.path`"),
        (["model="], "does not say `model`"),
        (["method=3"], "`method` must hold settings of its own"),
    ],
)
def test_bad_recipes_are_sentences(recipe_file, words, sentence):
    with pytest.raises(ScapoError, match=sentence):
        load_recipe(recipe_file, words)


def test_unknown_sections_are_named(recipe_file):
    recipe_file.write_text(RECIPE + "trainer: {nnodes: 1}\n")
    with pytest.raises(ScapoError, match=r"no setting `trainer`.*go into the section `verl`"):
        load_recipe(recipe_file)


def test_words_are_split_by_their_first_name():
    own, rest = split_words(["rollout.prompts=4", "actor_rollout_ref.rollout.n=2", "model=a", "++x.y=[1,2]"])
    assert own == [("rollout.prompts", 4), ("model", "a")]
    assert rest == ["actor_rollout_ref.rollout.n=2", "++x.y=[1,2]"]


def test_method_section_is_checked_and_named_methods_are_expanded():
    gspo = MethodSettings.of({"name": "scapo_gspo", "lambda_0": "1e-2", "n_0": 7.0})
    assert (gspo.credit, gspo.objective, gspo.lambda_0, gspo.n_0) == ("semifactual", "gspo", 0.01, 7)
    assert MethodSettings.of(gspo.plain()) == gspo
    assert MethodSettings.of({"name": "dr_grpo"}).std == "none"
    assert not MethodSettings.of({"credit": "outcome"}).probes
    assert not MethodSettings.of({"lambda_0": 0}).probes
    for section, sentence in (
        ({"credit": "luck"}, "method.credit is 'luck'"),
        ({"kinds": ["rhyme"]}, "method.kinds holds 'rhyme'"),
        ({"n_0": 2.5}, "method.n_0 is 2.5; it must be a whole number"),
        ({"lambda_0": -1}, "lambda_0 is -1"),
        ({"credit_constants": {"share": 0.1}}, "The credit 'semifactual' has no constant 'share'"),
        ({"objective": "gspo", "objective_constants": {"tau": 1}}, "has no constant tau"),
        ({"name": "gpro"}, "There is no method 'gpro'"),
    ):
        with pytest.raises(ScapoError, match=sentence):
            MethodSettings.of(section)


def test_sizes_become_verl_settings(recipe_file):
    recipe = load_recipe(recipe_file, ["method.name=dr_grpo"])
    found = derived(recipe, MethodSettings.of(recipe.method))
    assert found[f"{ACTOR}.ppo_mini_batch_size"] == 4
    assert found["data.train_batch_size"] == 8
    assert (found[f"{ACTOR}.loss_agg_mode"], found[f"{ACTOR}.loss_scale_factor"]) == (
        "seq-mean-token-sum-norm",
        32,
    )
    assert found["algorithm.norm_adv_by_std_in_grpo"] is False
    assert found["data.val_files"] == found["data.train_files"]


def test_the_loss_is_verl_s_own_where_it_is_the_same_function():
    def loss(**section):
        return loss_settings(MethodSettings.of(section))

    assert loss()[f"{ACTOR}.policy_loss.loss_mode"] == "vanilla"
    assert loss()[f"{ACTOR}.clip_ratio_c"] == 10.0
    assert loss(objective="gspo")[f"{ACTOR}.policy_loss.loss_mode"] == "gspo"
    assert loss(objective="gspo")[f"{ACTOR}.clip_ratio_high"] == 4e-4
    assert loss(objective="sapo")[f"{ACTOR}.policy_loss.loss_mode"] == "scapo"
    assert loss(credit="fipo")[f"{ACTOR}.policy_loss.loss_mode"] == "scapo"
    with pytest.raises(ScapoError, match="always has a dual clip"):
        loss(objective_constants={"dual_clip": None})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1e-6, "1e-06"),
        ("it's", r"'it\'s'"),
        ([1, "a"], "[1,'a']"),
        ({"a": {"b": []}}, "{a:{b:[]}}"),
    ],
)
def test_hydra_values(value, text):
    assert hydra_value(value) == text
    if importlib.util.find_spec("hydra"):
        from hydra.core.override_parser.overrides_parser import OverridesParser

        assert OverridesParser.create().parse_override(f"k={text}").value() == value


def test_a_second_run_in_one_directory_is_refused(recipe_file, tmp_path):
    recipe = load_recipe(recipe_file, [f"output={tmp_path / 'run'}"])
    with output_lock(recipe.output), pytest.raises(ScapoError, match="being written by another process"):
        train(recipe)
