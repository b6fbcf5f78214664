"""Recipes: one YAML file says everything about a training run; `--section.key value` changes a setting."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from scapo.engines.recipefile import read_recipe
from scapo.errors import ScapoError

METHOD = (
    *("credit", "objective", "lambda_0", "n_0", "sign", "source", "kinds", "dead_groups", "advantage_eps"),
    *("objective_constants", "credit_constants"),
)
NAME = "method.name"
"""Not a setting of its own: it stands for the settings of a named method."""
ROLLOUT = {"prompts": 128, "responses": 8, "updates": 2, "micro_batch": 8, "max_tokens": 512}
"""Sizes of a rollout where a recipe says nothing; the first three are the paper's."""
TRAIN = {"split": "train", "columns": {}, "max_prompt_tokens": 1024}
SECTIONS: dict[str, tuple[str, ...]] = {
    "train": ("path", *TRAIN),
    "method": METHOD,
    "rollout": tuple(ROLLOUT),
    "lora": ("r", "alpha", "dropout", "target_modules"),
}
DTYPES = ("float32", "bfloat16", "float16")
TOP = ("label", "model", "dtype", "stop_tokens", "threads")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training run as written. Sizes count over all processes.

    rollout: `prompts` x `responses` are sampled together and feed `updates` optimiser steps, in forward and
    backward passes of at most `micro_batch` responses. trainer: any other ScapoConfig field.
    """

    model: str
    train: dict[str, Any]
    label: str = "SCAPO"
    dtype: str = "float32"
    stop_tokens: list[str] = field(default_factory=list)
    threads: int | None = None
    method: dict[str, Any] = field(default_factory=dict)
    rollout: dict[str, Any] = field(default_factory=dict)
    lora: dict[str, Any] = field(default_factory=dict)
    trainer: dict[str, Any] = field(default_factory=dict)


def load_recipe(path: Path | str, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and apply `--key value` pairs; every key must be known.

    Raises:
        ScapoError: naming the file and the key, with the nearest valid one.
    """
    path = Path(path)
    content = read_recipe(path, "recipes/")
    _apply(content, parse_overrides(overrides))
    _check_keys(content, str(path))
    for name in ("model", "train"):
        if not content.get(name):
            raise ScapoError(f"{path} does not say `{name}`, which has no default.")
    if content.get("dtype", "float32") not in DTYPES:
        raise ScapoError(f"{path}: dtype is {content['dtype']!r}; it must be one of {', '.join(DTYPES)}.")
    if not content["train"].get("path"):
        raise ScapoError(f"{path} does not say `train.path`: a file of problems or a hub id.")
    defaults = {"train": TRAIN | content["train"], "rollout": ROLLOUT | (content.get("rollout") or {})}
    return Recipe(**content | defaults)


def parse_overrides(words: Sequence[str]) -> list[tuple[str, Any]]:
    """`--key value` or `--key=value` pairs; values are read as YAML, so 1e-6, true, null and [a, b] work."""
    pairs, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or len(word) == 2:
            raise ScapoError(
                f"Expected --key value, found {word!r}. Settings are written like --method.n_0 60."
            )
        key, equals, text = word[2:].partition("=")
        if not equals:
            if not rest or rest[0].startswith("--"):
                raise ScapoError(f"--{key} has no value after it.")
            text = rest.pop(0)
        pairs.append((key, yaml.safe_load(text)))
    return pairs


def _apply(content: dict[str, Any], pairs: Sequence[tuple[str, Any]]) -> None:
    """A method's name first gives its settings: the file's for the file's own, then the command line's."""
    from scapo.engines.trl.method import use_method

    own = content.get("method")
    if isinstance(own, dict) and "name" in own:
        label, own = content.get("label"), dict(own)
        trainer = content.get("trainer")
        use_method(content, own.pop("name"))
        content["method"].update(own)
        content["method"].pop("name")
        content["trainer"].update(trainer if isinstance(trainer, dict) else {})
        content["label"] = label or content["label"]
    for key, value in sorted(pairs, key=lambda pair: pair[0] != NAME):
        if key == NAME:
            use_method(content, value)
        else:
            _set(content, key, value)


def _set(content: dict[str, Any], key: str, value: Any) -> None:
    section, dot, name = key.partition(".")
    if not dot:
        content[key] = value
        return
    inner = content.setdefault(section, {})
    if not isinstance(inner, dict):
        raise ScapoError(f"--{key}: {section} is a single value, so it has no setting {name!r}.")
    inner[name] = value


def _check_keys(content: Mapping[str, Any], where: str) -> None:
    from scapo.engines.trl.config import field_names

    sections = SECTIONS | {"trainer": tuple(name for name in field_names() if name not in METHOD)}
    for key, value in content.items():
        if key in TOP:
            continue
        if key not in sections:
            raise ScapoError(_unknown(key, [*TOP, *sections], where, sections))
        if not isinstance(value, dict):
            raise ScapoError(
                f"{where}: `{key}` must hold settings of its own ({', '.join(sections[key][:5])}, ...)."
            )
        for name in value:
            if name not in sections[key]:
                raise ScapoError(
                    _unknown(f"{key}.{name}", [f"{key}.{n}" for n in sections[key]], where, sections)
                )


def _unknown(key: str, known: Sequence[str], where: str, sections: Mapping[str, Sequence[str]]) -> str:
    name = key.rpartition(".")[2]
    elsewhere = [f"{section}.{name}" for section, names in sections.items() if name in names]
    nearest = elsewhere or difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"Did you mean `{nearest[0]}`?" if nearest else f"Known: {', '.join(known[:20])}."
    return f"{where}: there is no setting `{key}`. {hint}"
