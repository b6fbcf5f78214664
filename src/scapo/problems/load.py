"""Load problems from JSONL, Parquet, CSV or a hub id into one row type, each problem once."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scapo.problems.cells import BadCell, answer_text, check_characters, dedupe_key, problem_text
from scapo.problems.columns import CHECKED, Columns, cell, choose_columns
from scapo.problems.row import LoadedProblems, Problem, Refusal, text_id
from scapo.problems.sources import read_rows

AnswerCheck = Callable[[Sequence[str]], Sequence[str | None]]
"""For each gold answer the reason why it can't be verified, or None."""


def load_problems(
    source: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    split: str = "train",
    revision: str | None = None,
    deduplicate: bool = True,
    check: AnswerCheck | None = None,
    progress: Callable[[int], None] | None = None,
) -> LoadedProblems:
    """Load problems from a .jsonl, .parquet or .csv file or a hub id (`name/set`, `name/set:config`).

    Args:
        columns: our names (id, problem, answer) to the source's, such as {"problem": "question"}; a dot leads
            into nested columns. Without it the layouts of columns.LAYOUTS are recognised.
        split, revision: of a hub id.
        deduplicate: keep a repeated problem once (and refuse repetitions with another answer).
        check: tells which golds can't be verified; `scapo.reward.gold_problems` is meant.
        progress: called with the number of rows read so far.

    Prompt templates (DAPO's, the paper's) are taken off, GSM8K's golds are cut from solutions. Rows that
    can't be used are refused with a reason, never silently dropped.

    Raises:
        ScapoError: when the source can't be read or a column is missing; names the columns found.
    """
    reading = _Reading(deduplicate)
    for number, row, names in _rows_with_columns(source, columns, split, revision):
        reading.add(number, row, names)
        if progress:
            progress(number)
    return reading.result(check)


class _Reading:
    """Collects rows: each distinct problem once, by the row that held it first."""

    def __init__(self, deduplicate: bool) -> None:
        self.deduplicate = deduplicate
        self.kept: dict[str, tuple[int, Problem]] = {}
        self.refused: list[Refusal] = []
        self.counts: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()

    def add(self, number: int, row: dict[str, Any], names: Columns) -> None:
        self.counts["rows"] += 1
        given = cell(row, names.id)
        try:
            check_characters(row)
            problem, unwrapped = problem_text(cell(row, names.problem))
            checked = cell(row, CHECKED)
            answer, cut = answer_text(cell(row, names.answer) if checked in (None, "") else checked)
        except BadCell as bad:
            identity = None if given is None else str(given).encode(errors="replace").decode()
            self.refused.append(Refusal(number, identity, str(bad)))
            return
        self.counts.update(unwrapped=unwrapped, final_answers=cut, corrected=checked not in (None, ""))
        self._keep(
            number, Problem(str(given) if given else text_id(problem), problem, answer, names.extra(row))
        )

    def result(self, check: AnswerCheck | None) -> LoadedProblems:
        rows = list(self.kept.values())
        reasons = check([problem.answer for _, problem in rows]) if check else [None] * len(rows)
        problems = []
        for (number, problem), reason in zip(rows, reasons, strict=True):
            if reason:
                self.refused.append(Refusal(number, problem.id, reason))
            else:
                problems.append(problem)
        counts = {
            name: self.counts[name]
            for name in ("rows", "unwrapped", "final_answers", "corrected", "duplicates")
        }
        counts |= {"refused": len(self.refused), "kept": len(problems)}
        return LoadedProblems(problems, sorted(self.refused, key=lambda refusal: refusal.row), counts)

    def _keep(self, number: int, problem: Problem) -> None:
        key = dedupe_key(problem.problem) if self.deduplicate else str(number)
        if key not in self.kept:
            self.ids[problem.id] += 1
            if (times := self.ids[problem.id]) > 1:  # files made of several sets repeat ids
                problem = replace(problem, id=f"{problem.id}#{times}")
            self.kept[key] = number, problem
            return
        first_row, first = self.kept[key]
        if first.answer.strip() == problem.answer.strip():
            self.counts["duplicates"] += 1
        else:
            differs = f"The answer is {problem.answer!r}, but row {first_row}, the same problem, has {first.answer!r}."
            self.refused.append(Refusal(number, problem.id, differs))


def _rows_with_columns(
    source: Path | str, mapping: Mapping[str, str] | None, split: str, revision: str | None
) -> Iterator[tuple[int, dict[str, Any], Columns]]:
    names: Columns | None = None
    for number, row in read_rows(source, split, revision):
        names = names or choose_columns(mapping, row, str(source))
        yield number, row, names
