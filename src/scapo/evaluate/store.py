"""The samples of a run on disk, by key: what is finished is never sampled again."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.files import JsonlAppender, cut_torn_tail, read_jsonl

Key = tuple[str, str, int]
COLUMNS = (
    "suite", "problem_id", "sample", "seed", "completion", "score", "reason", "extracted", "truncated",
    "tokens",
)  # fmt: skip


def key_of(row: dict[str, Any]) -> Key:
    return row["suite"], row["problem_id"], row["sample"]


class SampleStore:
    """`samples.jsonl` as a dictionary that survives a kill: each row is one whole line before it counts."""

    def __init__(self, path: Path, on_add: Callable[[], None] = lambda: None) -> None:
        cut_torn_tail(path)
        self.rows: dict[Key, dict[str, Any]] = dict(_read(path)) if path.exists() else {}
        self.on_add = on_add
        self._file = JsonlAppender(path)

    def add(self, row: dict[str, Any]) -> None:
        """Keep a finished sample; a second one under the same key is a programming error."""
        key = key_of(row)
        if key in self.rows:
            raise ValueError(f"sample {key} is already stored")
        self._file.append(row, sync=False)
        self.rows[key] = row
        self.on_add()

    def missing(self, keys: Iterable[Key]) -> list[Key]:
        return [key for key in keys if key not in self.rows]

    def close(self) -> None:
        self._file.close()


def _read(path: Path) -> Iterable[tuple[Key, dict[str, Any]]]:
    for number, row in read_jsonl(path):
        absent = [name for name in COLUMNS if name not in row]
        if absent:
            raise ScapoError(
                f"{path}, line {number}: no {', '.join(absent)}. Restore the file or use a new --out."
            )
        yield key_of(row), row
