"""Plain files that survive a kill at any moment: atomic writes, durable appends, JSONL with named bad rows."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from scapo.errors import ScapoError


def write_atomic(path: Path | str, text: str) -> None:
    """Write `text` to `path` so that a reader (or a crash) sees the old file or the new one, never a part."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: Path | str, value: Any) -> None:
    """Write one JSON value atomically, indented, with a final newline. NaN is refused (ValueError)."""
    write_atomic(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def write_jsonl(path: Path | str, rows: Iterable[dict[str, Any]]) -> None:
    """Write all rows atomically, one JSON object a line."""
    write_atomic(path, "".join(jsonl_line(row) for row in rows))


def jsonl_line(row: dict[str, Any]) -> str:
    """One row as a line with its newline; U+2028 and friends stay escaped so that no reader splits the line."""
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\u0085", "\\u0085") + "\n"


def read_jsonl(path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object); blank lines are skipped.

    Raises ScapoError naming file and line when the file is missing or a line is not a JSON object.
    """
    path = Path(path)
    if not path.is_file():
        raise ScapoError(f"{path} is not a file. Check the path.")
    with path.open(encoding="utf-8") as file:
        try:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _parse_line(path, number, line)
        except UnicodeDecodeError as error:
            raise ScapoError(f"{path} is not UTF-8 text ({error}). Convert it to UTF-8.") from error


def _parse_line(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ScapoError(
            f"{path}, line {number}: not valid JSON ({error}). Mend or remove the line."
        ) from error
    if not isinstance(value, dict):
        raise ScapoError(f"{path}, line {number}: expected a JSON object, found {type(value).__name__}.")
    return value


class JsonlAppender:
    """Append rows durably: each row reaches the disk as one whole line before `append` returns.

    A torn last line left by a kill is cut off when the file is opened (it was never acknowledged).
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        cut_torn_tail(self.path)
        self._file = self.path.open("ab")

    def append(self, *rows: dict[str, Any], sync: bool = True) -> None:
        """Write rows in one write call; with `sync` also force them to the disk."""
        self._file.write("".join(jsonl_line(row) for row in rows).encode())
        self._file.flush()
        if sync:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "JsonlAppender":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cut_torn_tail(path: Path) -> int:
    """Truncate bytes after the last newline; returns how many were cut (0 when the file is whole or absent)."""
    if not path.exists():
        return 0
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        keep = _end_of_last_line(file, size)
        if keep < size:
            file.truncate(keep)
        return size - keep


def _end_of_last_line(file: Any, size: int) -> int:
    position = size
    while position > 0:
        start = max(0, position - 65536)
        file.seek(start)
        newline = file.read(position - start).rfind(b"\n")
        if newline >= 0:
            return int(start + newline + 1)
        position = start
    return 0


def fingerprint(path: Path | str) -> str:
    """SHA-256 of a file's bytes, in hex: tells whether a resumed run still sees the same data."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def output_lock(out: Path) -> Iterator[None]:
    """Hold an output for this process; a second one is refused. The system frees it when the process dies."""
    whole = out.resolve()  # "." has no name of its own
    whole.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(whole.with_name(f".{whole.name}.lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise ScapoError(
            f"{out} is being written by another process. Wait until it ends, or choose another output."
        ) from error
    try:
        yield
    finally:
        lock.release()
