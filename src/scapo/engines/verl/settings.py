"""From a recipe to verl's configuration: hydra composes it from verl's own files and these settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scapo.algorithm import Clipped, Gspo
from scapo.engines.verl.method import LOSS_AGG_MODES, MethodSettings
from scapo.engines.verl.recipe import Recipe
from scapo.errors import ScapoError

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
REWARD = "pkg://scapo.engines.verl.reward"
TRAINER = "scapo"
"""The name under which our trainer is registered with verl."""
MODE = "trainer.v1.trainer_mode"
LOSS = "scapo"
"""The name under which our loss is registered with verl."""

PAPER: dict[str, Any] = {
    "algorithm.adv_estimator": "grpo",
    "data.filter_overlong_prompts": True,
    "data.seed": 42,
    f"{ACTOR}.optim.lr": 1e-6,
    f"{ACTOR}.optim.weight_decay": 0.01,
    f"{ACTOR}.grad_clip": 1.0,
    f"{ACTOR}.use_dynamic_bsz": True,
    f"{ROLLOUT}.name": "vllm",
    f"{ROLLOUT}.tensor_model_parallel_size": 1,
    f"{ROLLOUT}.temperature": 1.0,
    f"{ROLLOUT}.top_p": 1.0,
    f"{ROLLOUT}.top_k": -1,
    "trainer.val_before_train": False,
    "trainer.logger": ["console"],
}
"""Where verl's defaults are not the paper's settings (or depend on the release). The `verl` section may differ."""


def compose(recipe: Recipe, method: MethodSettings) -> Any:
    """verl's whole configuration for a recipe, unresolved.

    Raises:
        ScapoError: when verl has no such setting, or one of ours is said twice.
    """
    import hydra
    from hydra.core.global_hydra import GlobalHydra

    fixed = derived(recipe, method)
    _refuse_twice(recipe, fixed)
    lines = [
        *_lines(PAPER),
        *_lines(fixed),
        *_lines(recipe.verl),
        *recipe.overrides,
        f"+{TRAINER}={hydra_value(own_settings(recipe, method))}",
    ]
    GlobalHydra.instance().clear()
    try:
        with hydra.initialize_config_module("verl.trainer.config", version_base=None):
            return hydra.compose("ppo_trainer", overrides=lines)
    except hydra.errors.HydraException as error:
        cause = f" ({str(error.__cause__).splitlines()[0]})" if error.__cause__ else ""
        raise ScapoError(
            f"verl's configuration refuses a setting: {str(error).splitlines()[0]}{cause}. Settings stand in the "
            "section `verl` under verl's own names; one that verl does not list needs a + before its name."
        ) from error


def own_settings(recipe: Recipe, method: MethodSettings) -> dict[str, Any]:
    """What our trainer reads: the key `scapo` of the configuration."""
    return {"label": recipe.label, "output": str(recipe.output.resolve()), "method": method.plain()}


def derived(recipe: Recipe, method: MethodSettings) -> dict[str, Any]:
    """verl's settings that follow from the recipe's own sections."""
    sizes = recipe.rollout
    validation = recipe.validation.get("path")
    found: dict[str, Any] = {
        "actor_rollout_ref.model.path": recipe.model,
        "data.train_files": [str(Path(recipe.train["path"]).resolve())],
        "data.val_files": [str(Path(validation or recipe.train["path"]).resolve())],
        "data.max_prompt_length": recipe.train["max_prompt_tokens"],
        "data.max_response_length": sizes["max_tokens"],
        "data.train_batch_size": sizes["prompts"],
        f"{ACTOR}.ppo_mini_batch_size": sizes["prompts"] // sizes["updates"],
        f"{ROLLOUT}.n": sizes["responses"],
        f"{ACTOR}.loss_agg_mode": LOSS_AGG_MODES[method.reduction],
        "algorithm.norm_adv_by_std_in_grpo": method.std != "none",
        "reward.custom_reward_function.path": REWARD,
        "reward.custom_reward_function.name": "compute_score",
        MODE: TRAINER,
        "trainer.default_local_dir": str(recipe.output.resolve() / "checkpoints"),
        "trainer.project_name": "scapo",
        "trainer.experiment_name": recipe.label,
    }
    if not validation:
        found["data.val_max_samples"] = 1
    if method.reduction == "constant":
        found[f"{ACTOR}.loss_scale_factor"] = sizes["max_tokens"]
    return found | loss_settings(method)


def loss_settings(method: MethodSettings) -> dict[str, Any]:
    """The policy loss: verl's own where it is the same function, else ours (losses.py)."""
    objective = method.make_objective()
    if method.own_loss:
        return {
            f"{ACTOR}.policy_loss._target_": "scapo.engines.verl.losses.ScapoLossConfig",
            f"{ACTOR}.policy_loss.loss_mode": LOSS,
            f"+{ACTOR}.policy_loss.method": method.plain(),
        }
    if isinstance(objective, Gspo):
        return {
            f"{ACTOR}.policy_loss.loss_mode": "gspo",
            f"{ACTOR}.clip_ratio_low": objective.clip_low,
            f"{ACTOR}.clip_ratio_high": objective.clip_high,
        }
    assert isinstance(objective, Clipped)
    if objective.dual_clip is None:
        raise ScapoError("verl's clipped loss always has a dual clip; give dual_clip a number, such as 10.")
    return {
        f"{ACTOR}.policy_loss.loss_mode": "vanilla",
        f"{ACTOR}.clip_ratio_low": objective.clip_low,
        f"{ACTOR}.clip_ratio_high": objective.clip_high,
        f"{ACTOR}.clip_ratio_c": objective.dual_clip,
    }


def hydra_value(value: Any) -> str:
    """A value in hydra's override grammar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{hydra_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(hydra_value, value)) + "]"
    if isinstance(value, str):
        return "'" + value.replace("\\'", "\\\\'").replace("'", "\\'") + "'"
    return repr(value)


def _lines(settings: Mapping[str, Any]) -> list[str]:
    return [f"{key}={hydra_value(value)}" for key, value in settings.items()]


def _refuse_twice(recipe: Recipe, fixed: Mapping[str, Any]) -> None:
    """Settings that follow from the recipe are said there, so that the schedule and the data agree with them."""
    names = {key.lstrip("+") for key in fixed} - {MODE}  # another mode is refused by its name (checks.py)
    given = [*recipe.verl, *(word.partition("=")[0] for word in recipe.overrides)]
    for key in given:
        if key.lstrip("+~") in names or key.lstrip("+~").partition(".")[0] == TRAINER:
            raise ScapoError(
                f"{key} follows from the recipe's own sections (train, method, rollout, output, label); set it "
                "there. Behind the recipe on the command line that is for instance rollout.prompts=64."
            )
