"""What a checkpoint needs beyond transformers' own files, so that 3 + 3 steps equal 6.

A checkpoint may fall between two optimiser steps that one rollout batch feeds. Then the rest of that batch is
saved with it; TRL alone would sample anew from the updated policy and shift the order of the data.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from scapo.errors import ScapoError

STATE = "scapo_state_{rank}_of_{processes}.pt"


@dataclass(frozen=True)
class Place:
    """Where one process keeps its part of a checkpoint."""

    folder: Path
    rank: int
    processes: int

    @property
    def path(self) -> Path:
        return self.folder / STATE.format(rank=self.rank, processes=self.processes)


def save_state(place: Place, micro_step: int, rollout: list[Any] | None, fingerprint: str | None) -> None:
    """Write this process's part. It is written before transformers' files, whose last one marks the whole."""
    place.folder.mkdir(parents=True, exist_ok=True)
    partial = place.path.with_suffix(".tmp")
    torch.save({"micro_step": micro_step, "rollout": rollout, "data": fingerprint}, partial)
    os.replace(partial, place.path)


def load_state(place: Place, fingerprint: str | None, device: Any) -> tuple[int, list[Any] | None]:
    """The micro-step counter and the rest of the rollout batch; (0, None) for a plain TRL checkpoint.

    Raises:
        ScapoError: when the checkpoint was made with other data or by another number of processes, so that
            the order of the data would not continue.
    """
    parts = _parts(place.folder)
    if not parts:
        return 0, None
    if place.path not in parts:
        raise ScapoError(
            f"{place.folder} was made by another number of processes than {place.processes} (it holds "
            f"{parts[0].name}), so its rollouts can't be continued. Start as many as it was made by."
        )
    state = torch.load(place.path, map_location=device, weights_only=True)
    if None not in (fingerprint, state["data"]) and fingerprint != state["data"]:
        raise ScapoError(
            f"{place.folder} was made with another training set (its prompts, answers or perturbations differ), "
            "so its data order can't be continued. Resume with the data it began with, or start a new run "
            "elsewhere."
        )
    return state["micro_step"], state["rollout"]


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob(STATE.format(rank="*", processes="*")))


def fingerprint(dataset: Any, columns: Sequence[str]) -> str | None:
    """SHA-256 over the given columns of all rows; None for a stream, which can't be read twice."""
    if not hasattr(dataset, "__len__"):
        return None
    digest = hashlib.sha256()
    for row in dataset.select_columns([name for name in columns if name in dataset.column_names]):
        digest.update(json.dumps(row, ensure_ascii=False, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def last_complete(folder: Path | str) -> Path | None:
    """The newest `checkpoint-N` that was written to its end; one cut short by a kill is passed over."""
    found = [path for path in Path(folder).glob("checkpoint-*") if path.name.split("-")[-1].isdigit()]
    newest_first = sorted(found, key=lambda path: int(path.name.split("-")[-1]), reverse=True)
    return next((path for path in newest_first if is_complete(path)), None)


def is_complete(folder: Path) -> bool:
    """Whether every process's state and random state are there, and trainer_state.json, written last, is whole."""
    try:
        json.loads((folder / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    parts = _parts(folder)
    return bool(parts) and len(parts) == int(parts[0].stem.rpartition("_")[2]) == len(
        list(folder.glob("rng_state*.pth"))
    )
