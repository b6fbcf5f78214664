"""Load problems from JSONL, Parquet, CSV or a hub id into one row type."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.files import read_jsonl
from scapo.problems.row import LoadedProblems, Problem, Refusal


def load_problems(
    source: Path | str, *, columns: Mapping[str, str] | None = None, split: str = "train", **_: Any
) -> LoadedProblems:
    """Load problems (first cut: JSONL only; the signature and the result stay)."""
    mapping = {"id": "id", "problem": "problem", "answer": "answer", **(columns or {})}
    problems: list[Problem] = []
    refused: list[Refusal] = []
    rows = 0
    for number, row in _rows(Path(source)):
        rows += 1
        for name in ("problem", "answer"):
            if mapping[name] not in row:
                raise ScapoError(f"{source}, row {number}: no column {mapping[name]!r}; found {', '.join(row)}.")
        extra = {key: value for key, value in row.items() if key not in mapping.values()}
        problems.append(
            Problem(str(row.get(mapping["id"], number)), row[mapping["problem"]], str(row[mapping["answer"]]), extra)
        )
    return LoadedProblems(problems, refused, {"rows": rows, "kept": len(problems)})


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    return read_jsonl(path)
