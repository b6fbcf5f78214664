"""Write the embedded world as plain files: the policy's checkpoint and one JSONL file per split."""

import os
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.table import Table

from scapo.errors import ScapoError
from scapo.files import write_jsonl
from scapo.problems.world.rows import world_rows
from scapo.problems.world.stories import TEST_SPLITS, TRAIN_AGREE_SHARE


def write_world(
    out_dir: Path, *, train: int, test: int, seed: int, agree_share: float = TRAIN_AGREE_SHARE
) -> dict[str, list[dict[str, Any]]]:
    """Write base/, train.jsonl and test_<split>.jsonl, each whole or not at all; returns rows by file."""
    if out_dir.exists() and not out_dir.is_dir():
        raise ScapoError(f"{out_dir} is a file. Name a folder to write the embedded world to.")
    sizes = {"train": train, **dict.fromkeys(TEST_SPLITS, test)}
    rows = {_file_name(split): world_rows(split, size, seed, agree_share) for split, size in sizes.items()}
    copy_base(out_dir / "base")
    for name, split_rows in rows.items():
        write_jsonl(out_dir / name, split_rows)
    return rows


def _file_name(split: str) -> str:
    return "train.jsonl" if split == "train" else f"test_{split}.jsonl"


def copy_base(target: Path) -> None:
    """Put the shipped checkpoint at `target` in one rename; an earlier copy there is replaced."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as scratch:
        with as_file(files("scapo.problems.world") / "base") as source:
            shutil.copytree(source, Path(scratch) / "new")
        if target.exists():
            os.replace(target, Path(scratch) / "old")
        os.replace(Path(scratch) / "new", target)


def summary_table(rows: dict[str, list[dict[str, Any]]]) -> Table:
    """One line per file: problems, two-step stories, stories whose scene agrees or conflicts."""
    table = Table("file", "problems", "two steps", "scene agrees", "scene conflicts")
    for name, split_rows in rows.items():
        worlds = [row["world"] for row in split_rows]
        counts = (
            len(worlds),
            sum(len(world["operations"]) == 2 for world in worlds),
            sum(world["agree"] is True for world in worlds),
            sum(world["agree"] is False for world in worlds),
        )
        table.add_row(name, *map(str, counts))
    return table
