"""Load the problems of a benchmark: a local file if given, else the hub; nothing is dropped silently."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.benchmarks import Benchmark
from scapo.evaluate.item import Item
from scapo.evaluate.labels import corrected_answer
from scapo.evaluate.rows import file_rows, hub_rows


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The items of one set, where they came from, a digest of what was asked, and remarks for the reader."""

    benchmark: Benchmark
    items: list[Item]
    source: str
    digest: str
    notes: list[str]


def load_benchmark(benchmark: Benchmark, path: Path | None = None, limit: int | None = None) -> Loaded:
    """Items of a benchmark; `path` overrides the hub."""
    source = str(path) if path else _hub_name(benchmark)
    rows = file_rows(path) if path else hub_rows(benchmark)
    items = [_item(benchmark, source, number, row) for number, row in rows]
    if not items:
        raise ScapoError(f"{source} holds no problem. Give a file with one problem a line.")
    items, notes = (
        _without_copies(items, source) if len(items) > (benchmark.rows or len(items)) else (items, [])
    )
    _check_ids(items, source)
    if benchmark.rows is not None and len(items) != benchmark.rows:
        notes.append(
            f"{source} holds {len(items)} problems where the paper's {benchmark.name} has {benchmark.rows}."
        )
    if limit is not None and limit < len(items):
        notes.append(
            f"Only the first {limit} of {len(items)} problems of {benchmark.name} were used (--limit)."
        )
        items = items[:limit]
    return Loaded(benchmark=benchmark, items=items, source=source, digest=_digest(items), notes=notes)


def _hub_name(benchmark: Benchmark) -> str:
    if benchmark.hub is None:
        raise ScapoError(
            f"{benchmark.name} is not on a hub. {benchmark.remedy} Then name it: "
            f"--data {benchmark.name}=FILE."
        )
    revision = f"@{benchmark.revision}" if benchmark.revision else ""
    return f"{benchmark.hub}{revision}" + (f" ({benchmark.config})" if benchmark.config else "")


def _without_copies(items: list[Item], source: str) -> tuple[list[Item], list[str]]:
    """The first of each problem, with a note; for sources that are too long (some repeat all 32 times)."""
    first = {(item.problem, item.answer): item for item in reversed(items)}
    kept = [item for item in items if first[item.problem, item.answer] is item]
    copies = len(items) - len(kept)
    return kept, [f"{source}: {copies} copies of other rows were left out."] if copies else []


def _check_ids(items: list[Item], source: str) -> None:
    seen: dict[str, int] = {}
    for place, item in enumerate(items, start=1):
        if item.id in seen:
            raise ScapoError(
                f"{source}: the id {item.id!r} stands for two problems (number {seen[item.id]} and {place}). "
                "Make the ids distinct or leave the column out."
            )
        seen[item.id] = place


def _item(benchmark: Benchmark, source: str, number: int, row: Mapping[str, Any]) -> Item:
    def take(name: str) -> Any:
        column = benchmark.columns.get(name, name)
        for key in (column, name):
            if row.get(key) not in (None, "", []):
                return row[key]
        raise ScapoError(
            f"{source}, row {number}: no {name} (looked for the column {column!r}; the row has "
            f"{', '.join(row)}). Rename the column or mend the row."
        )

    problem = take("problem")
    if not isinstance(problem, str):
        raise ScapoError(
            f"{source}, row {number}: the problem is {type(problem).__name__}, not text. Mend the row."
        )
    answer = corrected_answer(row, problem, _answer_text(take("answer"), source, number))
    extra: dict[str, Any] = {}
    if benchmark.grader == "choice":
        extra["wrong"] = tuple(str(take(f"wrong_{n}")).strip() for n in (1, 2, 3))
        answer = answer.strip()
    if benchmark.grader == "answers":
        extra = _answers_extra(row, source, number)
    return Item(
        id=_id(benchmark, row, problem), problem=problem, answer=answer, grader=benchmark.grader, extra=extra
    )


def _id(benchmark: Benchmark, row: Mapping[str, Any], problem: str) -> str:
    for key in (benchmark.columns.get("id", "id"), "id"):
        if row.get(key) not in (None, ""):
            return str(row[key])
    return hashlib.sha256(problem.encode()).hexdigest()[:16]


def _answer_text(answer: Any, source: str, number: int) -> str:
    """Numbers become text (27.0 is 27); a list of answers is joined by commas."""
    if isinstance(answer, list):
        return ",".join(_answer_text(one, source, number) for one in answer)
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        raise ScapoError(
            f"{source}, row {number}: the answer is {type(answer).__name__}, not text. Mend the row."
        )
    if isinstance(answer, float) and answer.is_integer():
        return str(int(answer))
    return str(answer)


def _answers_extra(row: Mapping[str, Any], source: str, number: int) -> dict[str, Any]:
    error = row.get("error") or None
    try:
        tolerance = float(error) if error is not None else None
    except (TypeError, ValueError) as problem:
        raise ScapoError(f"{source}, row {number}: error {error!r} is no number. Mend the row.") from problem
    return {
        "several": bool(row.get("is_multiple_answer")),
        "unit": row.get("unit") or None,
        "error": tolerance,
    }


def _digest(items: list[Item]) -> str:
    """What was asked and what counted as right: two runs are comparable when these agree."""
    text = json.dumps(
        [[item.id, item.problem, item.answer, list(map(str, item.extra.values()))] for item in items]
    )
    return hashlib.sha256(text.encode()).hexdigest()
