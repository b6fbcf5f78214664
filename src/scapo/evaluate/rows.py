"""Raw rows of a local file or a hub set, numbered from 1."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.benchmarks import Benchmark
from scapo.files import read_jsonl

Rows = Iterator[tuple[int, dict[str, Any]]]


def file_rows(path: Path) -> Rows:
    """Rows of a .jsonl, .parquet or .csv file."""
    if not path.is_file():
        raise ScapoError(f"{path} is not a file. Check the path given to --data or --suite.")
    if path.suffix in (".jsonl", ".json"):
        return read_jsonl(path)
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return enumerate(parquet.read_table(path).to_pylist(), start=1)
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return enumerate(list(csv.DictReader(file)), start=1)
    raise ScapoError(f"{path}: unknown kind of file. Use .jsonl, .parquet or .csv.")


def hub_rows(benchmark: Benchmark) -> Rows:
    """Rows of a hub set; any failure to fetch it becomes a sentence with the way round."""
    from datasets import load_dataset

    try:
        data = load_dataset(
            benchmark.hub, benchmark.config, split=benchmark.split, revision=benchmark.revision
        )
    except Exception as error:  # the hub client raises many kinds; each means the set isn't available here
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ScapoError(
            f"{benchmark.name} could not be loaded from the hub ({benchmark.hub}): {first}. "
            f"{benchmark.remedy} Without a network give a local copy: --data {benchmark.name}=FILE."
        ) from error
    return ((number, dict(row)) for number, row in enumerate(data, start=1))
