"""Find run directories below the folders that are given."""

import json
from collections.abc import Iterable
from pathlib import Path

from scapo.errors import ScapoError

MARKERS = {
    "train": "config.json",
    "evaluate": "results.json",
    "diagnose": "drift.json",
    "compare": "compare.json",
    "decode": "decode.json",
}
REMEDY = (
    "Give the output directory of scapo train, evaluate, diagnose, compare or decode; an interrupted command "
    "writes its file when it is run again."
)
SEARCH_DEPTH = 3  # how far below a given folder its run directories may lie


def run_directories(paths: Iterable[Path | str]) -> list[Path]:
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            raise ScapoError(
                f"{path} is not a directory. Give the output directories of earlier scapo commands."
            )
        here = _search(path, SEARCH_DEPTH)
        if not here:
            raise ScapoError(
                f"{path} holds none of {', '.join(MARKERS.values())}, nor do its subfolders. {REMEDY}"
            )
        found.update((run.resolve(), run) for run in here)
    return list(found.values())


def _search(path: Path, depth: int) -> list[Path]:
    """Runs at or below `path` in name order: all those of a comparison, and what lies right inside a training."""
    kinds = {kind for kind in MARKERS if holds(path, kind)}
    if kinds - {"train", "compare"}:
        return [path]
    own = [path] if kinds else []
    if "train" in kinds:
        return own + [child for child in _children(path) if _is_inner(child)]
    if depth == 0:
        return own
    return own + [run for child in _children(path) for run in _search(child, depth - 1)]


def _children(path: Path) -> list[Path]:
    return sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))


def _is_inner(path: Path) -> bool:
    """Whether a folder inside a training is an evaluation (or the like) of it."""
    return any(holds(path, kind) for kind in ("evaluate", "diagnose", "decode"))


def holds(path: Path, kind: str) -> bool:
    """Whether a folder is a run of that kind. A model has a config.json too: only ours says what it is."""
    file = path / MARKERS[kind]
    if kind != "train" or not file.is_file():
        return file.is_file()
    try:
        config = json.loads(file.read_text(encoding="utf-8", errors="replace"))
    except ValueError:
        return True  # reading it says what is wrong with it
    return isinstance(config, dict) and config.get("kind") == "train"
