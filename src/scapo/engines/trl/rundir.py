"""The run directory: what config.json says, and whether a run may go on from what lies there."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from datasets import Dataset

from scapo.engines.trl import checkpoint
from scapo.engines.trl.config import ScapoConfig
from scapo.engines.trl.recipe import METHOD, Recipe
from scapo.errors import ScapoError
from scapo.files import fingerprint
from scapo.versions import versions

FIXED = ("model", "dtype", "train", "method", "rollout", "lora", "stop_tokens")
"""Recipe sections that a resumed run can't change: data order, schedule or weights depend on them."""


def run_config(recipe: Recipe, config: ScapoConfig, dataset: Dataset, command: str) -> dict[str, Any]:
    """What config.json holds (docs/files.md)."""
    path = str(recipe.train["path"])
    rows = checkpoint.fingerprint(dataset, dataset.column_names)
    return {
        "kind": "train",
        "label": recipe.label,
        "recipe": resolved(recipe, config),
        "seed": config.seed,
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "data": {
            "path": path,
            "sha256": fingerprint(path) if Path(path).is_file() else rows,
            "problems": len(dataset),
        },
    }


def resolved(recipe: Recipe, config: ScapoConfig) -> dict[str, Any]:
    """The recipe with every setting at the value it has in this run."""
    plain = json.loads(json.dumps(config.to_dict(), default=str))
    method = {name: plain[name] for name in METHOD}
    return asdict(recipe) | {"method": method, "trainer": {k: v for k, v in plain.items() if k not in method}}


def checkpoint_to_resume(recipe: Recipe, config: ScapoConfig, output: Path, resume: bool) -> Path | None:
    """The checkpoint to go on from; None to start anew.

    Raises:
        ScapoError: when the directory holds another run, or one that this recipe does not continue.
    """
    path = output / "config.json"
    if not path.exists():
        return None
    if not resume:
        raise ScapoError(
            f"{output} already holds a run. Go on with it by --resume, choose another --output, or delete it."
        )
    before = json.loads(path.read_text(encoding="utf-8"))
    now = resolved(recipe, config)
    for name in FIXED:
        if before["recipe"].get(name) != now[name]:
            raise ScapoError(
                f"{output} was started with {name} = {before['recipe'].get(name)}, but now it is "
                f"{now[name]}. A run can't change that on the way: restore it, or choose another --output."
            )
    source = Path(str(recipe.train["path"]))
    if source.is_file() and fingerprint(source) != before["data"]["sha256"]:
        raise ScapoError(
            f"{source} has changed since {output} was started (its SHA-256 differs), so its data order "
            "can't be continued. Restore the file, or choose another --output."
        )
    found = checkpoint.last_complete(output)
    if found is None and (output / "model" / "config.json").exists():
        raise ScapoError(
            f"{output} holds a finished model, but no complete checkpoint to go on from; a new run would "
            "overwrite it. Choose another --output, or delete the directory."
        )
    return found


def is_finished(resume_from: Path, config: ScapoConfig, output: Path) -> bool:
    """Whether the run has reached its last step and written its model."""
    step = json.loads((resume_from / "trainer_state.json").read_text(encoding="utf-8"))["global_step"]
    return bool(
        config.max_steps > 0 and step >= config.max_steps and (output / "model" / "config.json").exists()
    )
