"""From a recipe to the ScapoConfig that it stands for."""

from dataclasses import fields
from typing import Any, get_args, get_type_hints

import torch

from scapo.engines.trl.config import ScapoConfig
from scapo.engines.trl.recipe import ROLLOUT, Recipe
from scapo.errors import ScapoError

DERIVED = {
    "num_generations": "rollout.responses",
    "per_device_train_batch_size": "rollout.micro_batch",
    "steps_per_generation": "rollout.prompts and rollout.updates",
    "generation_batch_size": "rollout.prompts and rollout.responses",
    "gradient_accumulation_steps": "rollout.updates and rollout.micro_batch",
    "max_completion_length": "rollout.max_tokens",
    "output_dir": "--output",
}


def scapo_config(recipe: Recipe, output: str, processes: int = 1) -> ScapoConfig:
    """The trainer's settings; sizes are split over the processes.

    Raises:
        ScapoError: when a size does not divide, a value has the wrong type, or a setting is said twice.
    """
    for name, source in DERIVED.items():
        if name in recipe.trainer:
            raise ScapoError(f"trainer.{name} follows from {source}; set that instead.")
    trainer = {"report_to": "none", "disable_tqdm": True, "use_cpu": not torch.accelerator.is_available()}
    sizes = batch_sizes(recipe.rollout, processes)
    values = trainer | recipe.trainer | recipe.method | sizes | {"output_dir": output}
    try:
        return ScapoConfig(**coerced(values))
    except (ValueError, TypeError) as error:
        if isinstance(error, ScapoError):
            raise
        raise ScapoError(f"The trainer refuses these settings: {error}") from error


def batch_sizes(rollout: dict[str, Any], processes: int) -> dict[str, int]:
    """TRL's batch settings for `prompts` x `responses` sampled together and used in `updates` steps."""
    sizes = ROLLOUT | rollout
    for name, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ScapoError(f"rollout.{name} is {value!r}; it must be a whole number, 1 or more.")
    if sizes["prompts"] % sizes["updates"]:
        raise ScapoError(
            f"rollout.prompts is {sizes['prompts']} and rollout.updates is {sizes['updates']}: the prompts "
            "must divide evenly among the updates."
        )
    update = sizes["prompts"] * sizes["responses"] // sizes["updates"]
    together = sizes["micro_batch"] * processes
    if update % together:
        raise ScapoError(
            f"One update has {update} responses (rollout.prompts x rollout.responses / rollout.updates), "
            f"which rollout.micro_batch {sizes['micro_batch']} x {processes} process(es) does not divide. "
            "Choose a micro_batch that divides "
            f"{update // processes if update % processes == 0 else update}."
        )
    return {
        "num_generations": sizes["responses"],
        "per_device_train_batch_size": sizes["micro_batch"],
        "gradient_accumulation_steps": update // together,
        "steps_per_generation": update // together * sizes["updates"],
        "max_completion_length": sizes["max_tokens"],
    }


def coerced(values: dict[str, Any]) -> dict[str, Any]:
    """Values in the types their fields declare: YAML reads 1e-6 as a text and 1 as an integer.

    Raises:
        ScapoError: naming the setting and the type it needs.
    """
    hints = get_type_hints(ScapoConfig)
    known = {item.name for item in fields(ScapoConfig)}
    return {name: _coerce(name, value, hints[name]) for name, value in values.items() if name in known}


def _coerce(name: str, value: Any, hint: Any) -> Any:
    allowed = get_args(hint) or (hint,)
    if value is None or type(value) in allowed:
        return value
    if bool in allowed:
        raise ScapoError(f"{name} is {value!r}; it must be true or false.")
    if str in allowed:
        return (
            {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        )  # YAML reads no as false
    numbers = [kind for kind in (int, float) if kind in allowed]
    return _number(name, value, numbers[0]) if numbers else value


def _number(name: str, value: Any, kind: type[int] | type[float]) -> int | float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ScapoError(f"{name} is {value!r}; it must be a number.") from None
    if isinstance(value, bool) or (kind is int and not number.is_integer()):
        raise ScapoError(f"{name} is {value!r}; it must be {'a whole ' if kind is int else 'a '}number.")
    return kind(number)
