"""Read raw rows, one dict each, from a local file or a hub id."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.files import read_jsonl

_BATCH_ROWS = 1024
csv.field_size_limit(1 << 30)

Row = tuple[int, dict[str, Any]]


def read_rows(source: Path | str, split: str = "train", revision: str | None = None) -> Iterator[Row]:
    """Yield (row number from 1, row) of a .jsonl, .parquet or .csv file, or of a hub id.

    A hub id may carry a configuration after a colon: `openai/gsm8k:main`. Rows are read as they are needed.
    """
    path = Path(source)
    reader = {".jsonl": read_jsonl, ".parquet": _parquet, ".csv": _csv}.get(path.suffix.lower())
    if reader:
        if not path.is_file():
            raise ScapoError(f"{path} is not a file. Check the path.")
        return reader(path)
    if path.exists() or isinstance(source, Path):
        raise ScapoError(f"{path} is not a .jsonl, .parquet or .csv file. Convert it to one of them.")
    return _hub(str(source), split, revision)


def _parquet(path: Path) -> Iterator[Row]:
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(_BATCH_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (arrow.ArrowException, OSError) as error:
        raise ScapoError(f"{path} can't be read as Parquet ({error}). Write it anew.") from error


def _csv(path: Path) -> Iterator[Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), start=1):
                if None in row or None in row.values():
                    raise ScapoError(
                        f"{path}, row {number} doesn't have as many cells as the header. Mend the row."
                    )
                yield number, dict(row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ScapoError(f"{path} can't be read as UTF-8 CSV ({error}). Convert or mend it.") from error


def _hub(source: str, split: str, revision: str | None) -> Iterator[Row]:
    from datasets import load_dataset

    name, _, config = source.partition(":")
    try:
        data = load_dataset(name, config or None, split=split, revision=revision)
    except Exception as error:  # datasets and its network stack raise many types
        first_line = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ScapoError(
            f"{source} (split {split}) is no local file and could not be loaded from the hub: {first_line} "
            "Check the id and the network, or give a local .jsonl, .parquet or .csv file."
        ) from error
    for number, row in enumerate(data, start=1):
        yield number, dict(row)
