"""Recipes of the cluster engine: one YAML file says everything about a run on verl.

    label: SCAPO                     # name in tables and reports
    model: Qwen/Qwen3-4B-Base        # actor_rollout_ref.model.path
    output: runs/qwen3-4b/scapo      # checkpoints, metrics.jsonl, config.json; default runs/RECIPE/LABEL

    train:
      path: data/dapo.parquet        # from `scapo problems to-verl`
      max_prompt_tokens: 1024        # longer prompts are left out; a longer rewrite counts as missing
    validation: {path: data/test.parquet}    # optional; verl validates on it every trainer.test_freq rollouts

    method:                          # the settings of `scapo train`, or `name: gspo` for a named method
      credit: semifactual
      objective: clipped
      lambda_0: 0.01
      n_0: 120                       # optimiser steps, counted from 1

    rollout:                         # as in `scapo train`
      prompts: 128                   # data.train_batch_size
      responses: 8                   # actor_rollout_ref.rollout.n
      updates: 2                     # optimiser steps per rollout: ppo_mini_batch_size = prompts / updates
      max_tokens: 16384              # data.max_response_length

    verl:                            # any other setting under verl's own names, nested or dotted
      trainer: {total_training_steps: 300, n_gpus_per_node: 8, save_freq: 20}    # verl counts ROLLOUTS here
      actor_rollout_ref.rollout.name: vllm

Behind the recipe stand hydra overrides (`python -m scapo.engines.verl RECIPE.yaml trainer.nnodes=2 method.n_0=60`): a
key that begins with a section of the recipe (`label`, `model`, `output`, `train`, `validation`, `method`, `rollout`)
changes the recipe, every other one verl's configuration. Order, later wins: verl's defaults, the paper's settings
(settings.PAPER), what follows from the recipe, the `verl` section, overrides.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from scapo.engines.methods import method_label
from scapo.engines.recipefile import read_recipe
from scapo.errors import ScapoError

METHOD = (
    *("name", "credit", "objective", "lambda_0", "n_0", "sign", "source", "kinds", "dead_groups"),
    *("advantage_eps", "std", "reduction", "objective_constants", "credit_constants", "noise_rows"),
)
ROLLOUT = {"prompts": 128, "responses": 8, "updates": 2, "max_tokens": 512}
"""Sizes where a recipe says nothing; the first three are the paper's."""
TRAIN = {"max_prompt_tokens": 1024}
SECTIONS: dict[str, tuple[str, ...]] = {
    "train": ("path", *TRAIN),
    "validation": ("path",),
    "method": METHOD,
    "rollout": tuple(ROLLOUT),
}
TOP = ("label", "model", "output")
OWN = (*TOP, *SECTIONS)
"""First words of the settings that are ours; all others are verl's."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A run as written. `verl` is flat: dotted names of verl's configuration and their values.

    overrides: hydra's, from the command line, applied last.
    """

    model: str
    output: Path
    train: dict[str, Any]
    rollout: dict[str, int]
    label: str = "SCAPO"
    validation: dict[str, Any] = field(default_factory=dict)
    method: dict[str, Any] = field(default_factory=dict)
    verl: dict[str, Any] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()


def load_recipe(path: Path | str, words: Sequence[str] = ()) -> Recipe:
    """Read a recipe and apply the command line's words; every key of ours must be known.

    Raises:
        ScapoError: naming the file and the key, with the nearest valid one.
    """
    path = Path(path)
    content = read_recipe(path, "recipes/verl/")
    own, overrides = split_words(words)
    for key, value in own:
        _set(content, key, value)
    _check_keys(content, str(path))
    for name in ("model", "train"):
        if not content.get(name):
            raise ScapoError(f"{path} does not say `{name}`, which has no default.")
    if not content["train"].get("path"):
        raise ScapoError(
            f"{path} does not say `train.path`: a Parquet file made by `scapo problems to-verl`."
        )
    label = str(content.get("label") or _label(content.get("method") or {}))
    output = Path(content.get("output") or Path("runs") / path.stem / label.lower().replace(" ", "-"))
    return Recipe(
        model=str(content["model"]),
        label=label,
        output=output,
        train=TRAIN | content["train"],
        validation=content.get("validation") or {},
        method=content.get("method") or {},
        rollout=ROLLOUT | (content.get("rollout") or {}),
        verl=dict(flattened(content.get("verl") or {})),
        overrides=tuple(overrides),
    )


def split_words(words: Sequence[str]) -> tuple[list[tuple[str, Any]], list[str]]:
    """Settings of the recipe (as key and value) and hydra overrides, from the words behind the recipe."""
    own, rest = [], []
    for word in words:
        key, equals, text = word.partition("=")
        if word.startswith("--") or not equals:
            raise ScapoError(
                f"Expected key=value behind the recipe, found {word!r}. Settings are written like "
                "method.n_0=60 or trainer.nnodes=2."
            )
        if key.partition(".")[0] in OWN:
            own.append((key, yaml.safe_load(text)))
        else:
            rest.append(word)
    return own, rest


def flattened(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and values of a nested mapping; an empty mapping is a value, and a + goes to the front."""
    for key, value in section.items():
        marks = key[: len(key) - len(key.lstrip("+"))]
        name = f"{marks}{prefix}{key.lstrip('+')}"
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{name}.")
        else:
            yield name, value


def _label(method: Mapping[str, Any]) -> str:
    return method_label(str(method.get("name") or ("grpo" if method.get("credit") == "outcome" else "scapo")))


def _set(content: dict[str, Any], key: str, value: Any) -> None:
    section, dot, name = key.partition(".")
    if not dot:
        content[key] = value
        return
    if content.get(section) is None:
        content[section] = {}
    inner = content[section]
    if not isinstance(inner, dict):
        raise ScapoError(f"{key}: {section} is a single value, so it has no setting {name!r}.")
    _set(inner, name, value)


def _check_keys(content: Mapping[str, Any], where: str) -> None:
    for key, value in content.items():
        if key in TOP:
            continue
        if key not in SECTIONS and key != "verl":
            raise ScapoError(_unknown(key, [*OWN, "verl"], where))
        if not isinstance(value, dict):
            raise ScapoError(f"{where}: `{key}` must hold settings of its own.")
        for name in value if key in SECTIONS else ():
            if name not in SECTIONS[key]:
                raise ScapoError(_unknown(f"{key}.{name}", [f"{key}.{n}" for n in SECTIONS[key]], where))


def _unknown(key: str, known: Sequence[str], where: str) -> str:
    nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"Did you mean `{nearest[0]}`?" if nearest else f"Known: {', '.join(known)}."
    return f"{where}: there is no setting `{key}`. {hint} Settings of verl itself go into the section `verl`."
