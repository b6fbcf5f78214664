"""JSON and JSONL files of runs, which may be cut off or strange."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError


def read_object(path: Path) -> dict[str, Any]:
    """One JSON object from a file; anything else raises a ScapoError naming the file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ScapoError(f"{path}: not valid JSON ({error}). Run the command that wrote it again.") from error
    if not isinstance(value, dict):
        raise ScapoError(f"{path}: expected a JSON object, found {type(value).__name__}.")
    return value


def read_objects_of(path: Path, name: str, command: str) -> dict[str, Any]:
    """A JSON object whose entry `name` is an object of objects; anything else raises a ScapoError."""
    value = read_object(path)
    inner = value.get(name)
    if not isinstance(inner, dict) or not all(isinstance(one, dict) for one in inner.values()):
        raise ScapoError(f"{path}: '{name}' must be an object of objects. Run {command} again.")
    return value


def read_rows(path: Path, notes: list[str]) -> Iterable[dict[str, Any]]:
    """Rows of a JSONL file. A missing file or a torn last line leaves a note; a bad line inside raises."""
    if not path.is_file():
        notes.append(f"{path} is missing, so what it would show is left out.")
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                if not line.endswith(b"\n"):
                    notes.append(
                        f"{path}: the last line is cut off and was left out (stopped while writing)."
                    )
                    return
                raise ScapoError(
                    f"{path}, line {number}: not valid JSON ({error}). Mend or remove the line."
                ) from error
            if not isinstance(value, dict):
                raise ScapoError(
                    f"{path}, line {number}: expected a JSON object, found {type(value).__name__}."
                )
            yield value


def finite(value: Any) -> float | None:
    """A finite number, or None for anything else: text, null, NaN, booleans, integers beyond all floats."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def numbers_only(row: dict[str, Any]) -> dict[str, float]:
    """The finite numbers of a row; text, null, NaN and booleans are left out."""
    return {key: number for key, value in row.items() if (number := finite(value)) is not None}
