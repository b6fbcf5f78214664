"""Which columns of a source hold the id, the problem and the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scapo.errors import ScapoError

LAYOUTS = (  # tried in this order where no mapping names the columns
    ("problem", "answer"),
    ("question", "answer"),  # GSM8K
    ("prompt", "solution"),  # DAPO-Math-17k-Processed
    ("prompt", "reward_model.ground_truth"),  # DAPO-Math-17k
    ("question", "final_answer"),  # OlympiadBench
)
CHECKED = "checked_answer"
"""A column with corrections of wrong golds; where it isn't empty it replaces the answer."""


@dataclass(frozen=True)
class Columns:
    """Names of the source's columns; a dot leads into a nested one (`reward_model.ground_truth`)."""

    id: str
    problem: str
    answer: str

    def extra(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """All other columns; of nested ones the whole."""
        used = {self.id, self.problem, self.answer}
        return {name: value for name, value in row.items() if name not in used}


def choose_columns(mapping: Mapping[str, str] | None, row: Mapping[str, Any], source: str) -> Columns:
    """The mapping, completed by the first known layout that the row has.

    Raises:
        ScapoError: naming the missing column and those found.
    """
    mapping = mapping or {}
    if unknown := set(mapping) - {"id", "problem", "answer"}:
        raise ScapoError(
            f"A column mapping has the names id, problem and answer, not {', '.join(sorted(unknown))}."
        )
    for name, column in mapping.items():
        if name != "id" and not has(row, column):
            raise _missing(source, column, name, row)
    for problem, answer in LAYOUTS:
        chosen = Columns(
            mapping.get("id", "id"), mapping.get("problem", problem), mapping.get("answer", answer)
        )
        if has(row, chosen.problem) and has(row, chosen.answer):
            return chosen
    name = next(
        (name for name in ("problem", "answer") if name not in mapping and not has(row, name)), "answer"
    )
    raise _missing(source, name, name, row)


def has(row: Mapping[str, Any], column: str) -> bool:
    """Whether a row has a (possibly nested) column."""
    head, _, rest = column.partition(".")
    if column in row or not rest:
        return column in row
    return isinstance(row.get(head), Mapping) and has(row[head], rest)


def cell(row: Mapping[str, Any], column: str) -> Any:
    """The value of a (possibly nested) column, None where the row lacks it."""
    head, _, rest = column.partition(".")
    if column in row or not rest:
        return row.get(column)
    return cell(row[head], rest) if isinstance(row.get(head), Mapping) else None


def parse_columns(pairs: Sequence[str] | None) -> dict[str, str]:
    """A mapping from command-line pairs such as `problem=question`."""
    mapping = {}
    for pair in pairs or ():
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise ScapoError(f"--column {pair} is not a pair. Write it as problem=question.")
        mapping[name] = column
    return mapping


def _missing(source: str, column: str, name: str, row: Mapping[str, Any]) -> ScapoError:
    return ScapoError(
        f"{source} has no column {column!r} for the {name}. It has: {', '.join(map(str, row)) or 'none'}. "
        f'Name the right one, as in columns={{"{name}": "..."}} or --column {name}=...'
    )
