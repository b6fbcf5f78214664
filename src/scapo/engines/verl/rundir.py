"""The run directory: config.json, and whether a run may go on from the checkpoints that lie there."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scapo.engines.verl.method import MethodSettings
from scapo.engines.verl.recipe import Recipe
from scapo.errors import ScapoError
from scapo.files import fingerprint, write_json
from scapo.versions import versions

LATEST = "checkpoints/latest_checkpointed_iteration.txt"
"""verl writes it last: with it a checkpoint is whole."""


def check_resume(recipe: Recipe, method: MethodSettings) -> None:
    """Refuse to go on with other settings or data than a run began with; verl goes on by itself otherwise.

    Raises:
        ScapoError: naming what differs.
    """
    path = recipe.output / "config.json"
    if not path.exists() or not (recipe.output / LATEST).exists():
        return
    before = json.loads(path.read_text(encoding="utf-8"))
    for name, value in _fixed(recipe, method).items():
        if before["recipe"].get(name) != value:
            raise ScapoError(
                f"{recipe.output} was started with {name} = {before['recipe'].get(name)}, but now it is {value}. "
                "A run can't change that on the way: restore it, or choose another output."
            )
    if fingerprint(recipe.train["path"]) != before["data"]["sha256"]:
        raise ScapoError(
            f"{recipe.train['path']} has changed since {recipe.output} was started (its SHA-256 differs), so its "
            "data order can't be continued. Restore the file, or choose another output."
        )


def write_config(recipe: Recipe, config: Any, method: MethodSettings, command: str) -> None:
    """Write config.json (docs/files.md): the recipe with every setting, and verl's whole configuration."""
    from omegaconf import OmegaConf
    from pyarrow.parquet import ParquetFile

    path = Path(recipe.train["path"])
    content = {
        "kind": "train",
        "label": recipe.label,
        "engine": "verl",
        "recipe": _fixed(recipe, method) | {"label": recipe.label, "output": str(recipe.output)},
        "verl": OmegaConf.to_container(config, resolve=True),
        "seed": config.data.seed,
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "data": {
            "path": str(path),
            "sha256": fingerprint(path),
            "problems": ParquetFile(path).metadata.num_rows,
        },
    }
    write_json(recipe.output / "config.json", content)


def _fixed(recipe: Recipe, method: MethodSettings) -> dict[str, Any]:
    """What a run keeps: data order, schedule or weights depend on it."""
    return {
        "model": recipe.model,
        "train": dict(recipe.train),
        "method": method.plain(),
        "rollout": dict(recipe.rollout),
    }
