"""Load the problems of a benchmark: a local file if given, else the hub; nothing is dropped silently."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.benchmarks import WORLD_FAMILY, Benchmark
from scapo.evaluate.item import Item
from scapo.evaluate.labels import corrected_answer
from scapo.problems import LoadedProblems, Problem, load_problems
from scapo.problems.sources import read_rows
from scapo.reward.goldcheck import gold_problems

WORLD_PROBLEMS = 200


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The items of one set (of `available` ones), their source, a digest of what is asked, and remarks."""

    benchmark: Benchmark
    items: list[Item]
    available: int
    source: str
    digest: str
    notes: list[str]


def load_benchmark(benchmark: Benchmark, path: Path | None = None, limit: int | None = None) -> Loaded:
    """Items of a benchmark; `path` overrides the hub (the embedded world is made on the spot)."""
    if path is None and benchmark.family == WORLD_FAMILY:
        source, problems = "embedded world, seed 0", _world(benchmark.name)
        notes: list[str] = []
    else:
        source = str(path) if path else _hub_id(benchmark)
        problems, notes = _problems(benchmark, path or source)
    items = [_item(benchmark, source, problem) for problem in problems]
    if not items:
        raise ScapoError(f"{source} holds no usable problem. Give a file with one problem a line.")
    if benchmark.rows is not None and len(items) != benchmark.rows:
        notes.append(f"{source}: {len(items)} problems; the paper's {benchmark.name} has {benchmark.rows}.")
    used = items[:limit]
    notes += _gold_notes(used, source)
    return Loaded(
        benchmark=benchmark,
        items=used,
        available=len(items),
        source=source,
        digest=_digest(used),
        notes=notes,
    )


def _world(split: str) -> list[Problem]:
    from scapo.problems.world.rows import world_rows

    rows = world_rows(split, WORLD_PROBLEMS)
    return [Problem(row["id"], row["problem"], row["answer"]) for row in rows]


def _hub_id(benchmark: Benchmark) -> str:
    if benchmark.hub is None:
        raise ScapoError(
            f"{benchmark.name} is not on a hub. {benchmark.remedy} Then name it: "
            f"--data {benchmark.name}=FILE."
        )
    return f"{benchmark.hub}:{benchmark.config}" if benchmark.config else benchmark.hub


def _problems(benchmark: Benchmark, source: Path | str) -> tuple[list[Problem], list[str]]:
    """Problems and notes; repetitions go where a source is too long (some hold each problem 32 times)."""
    load = partial(
        load_problems,
        source,
        columns=_columns(benchmark, source),
        split=benchmark.split,
        revision=benchmark.revision,
    )
    loaded = load(deduplicate=benchmark.rows is None)
    if benchmark.rows is not None and len(loaded.problems) > benchmark.rows:
        loaded = load(deduplicate=True)
    return loaded.problems, _loading_notes(loaded, source)


def _loading_notes(loaded: LoadedProblems, source: Path | str) -> list[str]:
    notes = []
    if copies := loaded.counts.get("duplicates"):
        notes.append(f"{source}: {copies} repetitions of a problem were left out.")
    if loaded.refused:
        first = loaded.refused[0]
        notes.append(f"{source}: {len(loaded.refused)} rows were refused; row {first.row}: {first.reason}")
    return notes


def _gold_notes(items: list[Item], source: str) -> list[str]:
    """Golds that no answer can match: they stay in the denominator, but the reader must know."""
    plain = [item for item in items if item.grader != "choice"]
    reasons = gold_problems([item.answer for item in plain])
    bad = [(item.id, reason) for item, reason in zip(plain, reasons, strict=True) if reason]
    if not bad:
        return []
    return [
        f"{source}: {len(bad)} golds can't be verified, so every response to them scores 0: "
        f"{', '.join(name for name, _ in bad)}. The first: {bad[0][1]}"
    ]


def _columns(benchmark: Benchmark, source: Path | str) -> dict[str, str]:
    """The hub's column names where the source has them; local copies mostly use our own names."""
    try:
        _, row = next(read_rows(source, benchmark.split, benchmark.revision))
    except StopIteration:
        raise ScapoError(f"{source} is empty. Give a file with one problem a line.") from None
    except ScapoError as error:
        raise ScapoError(
            f"{benchmark.name}: {error} {benchmark.remedy} A local copy is used with --data "
            f"{benchmark.name}=FILE; HF_HUB_OFFLINE=1 uses what the hub's cache has, without waiting."
        ) from error
    return {name: column for name, column in benchmark.columns.items() if column in row}


def _item(benchmark: Benchmark, source: str, problem: Problem) -> Item:
    extra: dict[str, Any] = {}
    answer = corrected_answer(problem.problem, problem.answer)
    if benchmark.grader == "choice":
        extra["wrong"] = _wrong_options(problem, source)
        answer = answer.strip()
    if benchmark.grader == "answers":
        extra = _answers_extra(problem, source)
    return Item(id=problem.id, problem=problem.problem, answer=answer, grader=benchmark.grader, extra=extra)


def _wrong_options(problem: Problem, source: str) -> tuple[str, ...]:
    for names in ("Incorrect Answer {}", "wrong_{}"):
        found = [problem.extra.get(names.format(number)) for number in (1, 2, 3)]
        if all(isinstance(text, str) and text.strip() for text in found):
            return tuple(str(text).strip() for text in found)
    raise ScapoError(
        f"{source}, problem {problem.id}: three wrong options are needed in the columns 'Incorrect Answer 1' "
        f"to 3 (or wrong_1 to wrong_3); the row has {', '.join(problem.extra) or 'no further column'}."
    )


def _answers_extra(problem: Problem, source: str) -> dict[str, Any]:
    row: Mapping[str, Any] = problem.extra
    error = row.get("error") or None
    try:
        tolerance = float(error) if error is not None else None
    except (TypeError, ValueError) as bad:
        raise ScapoError(
            f"{source}, problem {problem.id}: error {error!r} is no number. Mend the row."
        ) from bad
    several = row.get("is_multiple_answer") in (True, "True", "true", 1)
    return {"several": several, "unit": row.get("unit") or None, "error": tolerance}


def _digest(items: list[Item]) -> str:
    """What was asked and what counted as right: two runs are comparable when these agree."""
    text = json.dumps(
        [[item.id, item.problem, item.answer, sorted(map(str, item.extra.items()))] for item in items]
    )
    return hashlib.sha256(text.encode()).hexdigest()
