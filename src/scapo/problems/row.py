"""The row type that every stage shares, and what loading a source yields."""

import hashlib
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Problem:
    """One problem with its gold answer; `problem` carries no prompt template.

    `extra` holds every other column of the row, such as `perturbations: {kind: text}` (docs/files.md).
    """

    id: str
    problem: str
    answer: str
    extra: dict[str, Any] = field(default_factory=dict)

    def to_row(self) -> dict[str, Any]:
        """The row as written to a file: the extra columns travel along."""
        return {"id": self.id, "problem": self.problem, "answer": self.answer, **self.extra}

    @property
    def perturbations(self) -> dict[str, str]:
        """The rewrites that passed the checks, `{kind: text}`; empty where the file has none."""
        return {kind: text for kind, text in (self.extra.get("perturbations") or {}).items() if text}


@dataclass(frozen=True)
class Refusal:
    """A row that was left out: its place in the source (from 1), its id if known, why (a sentence)."""

    row: int
    id: str | None
    reason: str


@dataclass(frozen=True)
class LoadedProblems:
    """What a source yielded: the problems kept, the rows refused, and counts.

    counts: `rows` in the source; `unwrapped` texts freed from a prompt template; `final_answers` cut from a
    solution's `####` line; `corrected` golds from a `checked_answer` column; `duplicates`, `refused`, `kept`.
    rows = duplicates + refused + kept.
    """

    problems: list[Problem]
    refused: list[Refusal]
    counts: dict[str, int]


def text_id(text: str) -> str:
    """An id made from a problem's text, the same in every run."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
