"""The launcher: from a recipe to a run on a Ray cluster."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scapo.engines.verl.checks import check_config, check_verl
from scapo.engines.verl.data import check_training_file
from scapo.engines.verl.method import MethodSettings
from scapo.engines.verl.recipe import Recipe, load_recipe
from scapo.engines.verl.rundir import check_resume, write_config
from scapo.engines.verl.settings import compose
from scapo.errors import ScapoError
from scapo.files import output_lock

USAGE = "Usage: python -m scapo.engines.verl RECIPE.yaml [key=value ...]   (docs/cluster.md)"


def main(words: Sequence[str]) -> int:
    """Train; bad input is a sentence and exit status 2."""
    if not words or words[0] in ("-h", "--help"):
        print(USAGE, file=sys.stderr)
        return 0 if words else 2
    try:
        train(load_recipe(words[0], words[1:]))
    except ScapoError as error:
        print(f"scapo: {error}", file=sys.stderr)
        return 2
    return 0


def train(recipe: Recipe) -> None:
    """Check everything that can be checked here, then start Ray (or join its cluster) and train."""
    with output_lock(recipe.output):
        config, method, notes = prepare(recipe)
        for line in [*notes, *describe(recipe, config, method)]:
            print(line, flush=True)
        write_config(recipe, config, method, " ".join(sys.argv))
        _run(config)


def prepare(recipe: Recipe) -> tuple[Any, MethodSettings, list[str]]:
    """The composed configuration, the method, and what there is to say about the data.

    Raises:
        ScapoError: when anything is wrong, before Ray starts.
    """
    method = MethodSettings.of(recipe.method)
    _check_sizes(recipe)
    notes = [check_training_file(Path(recipe.train["path"]), method.probed_kinds if method.probes else ())]
    if recipe.validation.get("path"):
        notes.append("validation: " + check_training_file(Path(recipe.validation["path"]), ()))
    check_resume(recipe, method)
    check_verl()
    config = compose(recipe, method)
    check_config(config, method)
    _check_by_verl(config)
    return config, method, notes


def describe(recipe: Recipe, config: Any, method: MethodSettings) -> list[str]:
    """What the run will do, before it does it."""
    sizes, schedule = recipe.rollout, method.schedule
    shape = f"{config.trainer.nnodes} node(s) x {config.trainer.n_gpus_per_node} GPUs"
    on = (
        f", lambda {schedule.lambda_0:g} for the first {schedule.n_0} optimiser steps"
        if method.probes
        else ""
    )
    return [
        f"{recipe.label}: {recipe.model} on {shape}",
        f"credit {method.credit}, objective {method.objective}{on}",
        f"a rollout of {sizes['prompts']} prompts x {sizes['responses']} responses of at most "
        f"{sizes['max_tokens']} tokens feeds {sizes['updates']} optimiser steps",
        f"run directory {recipe.output}",
    ]


def _check_sizes(recipe: Recipe) -> None:
    for name, value in recipe.rollout.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ScapoError(f"rollout.{name} is {value!r}; it must be a whole number, 1 or more.")
    if recipe.rollout["prompts"] % recipe.rollout["updates"]:
        raise ScapoError(
            f"rollout.prompts is {recipe.rollout['prompts']} and rollout.updates is "
            f"{recipe.rollout['updates']}: the prompts must divide evenly among the updates."
        )


def _check_by_verl(config: Any) -> None:
    """verl's own checks, which speak in assertions."""
    from hydra.errors import HydraException
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    try:
        validate_config(config, need_reference_policy(config), need_critic(config))
    except (AssertionError, ValueError, HydraException) as error:
        raise ScapoError(f"verl refuses these settings: {error}") from error


def _run(config: Any) -> None:
    import ray
    from verl.trainer.main_ppo import run_ppo
    from verl.utils.device import auto_set_device

    from scapo.engines.verl.runner import ScapoTaskRunner

    auto_set_device(config)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    run_ppo(config, task_runner_class=ray.remote(ScapoTaskRunner))
