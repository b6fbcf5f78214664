"""What there is to look at in a file of rewrites: each with its original, and where the two differ."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.files import read_jsonl
from scapo.perturb.journal import journal_path, problem_hash, reason_code
from scapo.perturb.kinds import Kind
from scapo.problems import Problem

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SIMILAR_ENOUGH = 4_000
"""Tokens of both texts together up to which they are compared; beyond, all of both counts as changed."""


@dataclass(frozen=True)
class Item:
    """One rewrite to look at; `state` is made, none, refused or, for one asked for again later, retried."""

    problem_id: str
    kind: str
    state: str
    reason: str
    maker: str
    original: str
    text: str | None

    @property
    def code(self) -> str:
        return reason_code(self.reason) if self.reason else ""


Piece = tuple[str, bool]
"""A stretch of text, and whether it differs from the other side."""


def read_items(path: Path, kinds: Sequence[Kind] | None = None, limit: int | None = None) -> Iterator[Item]:
    """The rewrites of an output, problem by problem, with the refused attempts that its journal holds.

    Raises ScapoError where a row is not one of `scapo perturb`.
    """
    attempts = _refused_attempts(journal_path(path))
    for count, (number, row) in enumerate(read_jsonl(path), start=1):
        if limit is not None and count > limit:
            return
        if not {"problem", "perturbations", "absent"} <= set(row):
            raise ScapoError(
                f"{path}, line {number} is no row written by `scapo perturb`: it has no perturbations."
            )
        names = {*map(str, kinds)} if kinds else {*row["perturbations"], *row["absent"]}
        yield from _row_items(row, [kind for kind in Kind if kind in names], attempts)


def _row_items(
    row: dict[str, Any], kinds: Sequence[Kind], attempts: dict[str, list[dict[str, Any]]]
) -> Iterator[Item]:
    identity, original = str(row.get("id", "")), row["problem"]
    for kind in kinds:
        if kind in row["perturbations"]:
            maker = _maker(row.get("provenance", {}).get(kind, {}))
            yield Item(identity, kind, "made", "", maker, original, row["perturbations"][kind])
        elif kind in row["absent"]:
            entry = row["absent"][kind]
            yield Item(identity, kind, entry["status"], entry["reason"], "", original, entry.get("text"))
    for attempt in attempts.get(problem_hash(Problem("", original, str(row.get("answer", "")))), ()):
        if attempt["kind"] in kinds:
            reason, text = attempt["reason"], attempt["text"]
            yield Item(identity, attempt["kind"], "retried", reason, attempt["model"], original, text)


def _maker(provenance: dict[str, Any]) -> str:
    names = [provenance.get("generator"), provenance.get("model")]
    return " ".join(str(name) for name in names if name)


def _refused_attempts(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    if path.is_file():
        for _, row in read_jsonl(path):
            if row.get("record") == "result" and row["status"] == "refused" and not row["final"]:
                found.setdefault(row["problem"], []).append(row)
    return found


def diff(original: str, text: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces, word by word, each marked where it differs from the other side."""
    left, right = _TOKEN.findall(original), _TOKEN.findall(text)
    if len(left) + len(right) > SIMILAR_ENOUGH:
        return [(original, original != text)], [(text, original != text)]
    pieces: tuple[list[Piece], list[Piece]] = ([], [])
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for side, tokens in zip(pieces, (left[a:b], right[c:d]), strict=True):
            if tokens:
                side.append(("".join(tokens), tag != "equal"))
    return pieces


def visible(text: str) -> str:
    """Untrusted text made harmless for a terminal or a page: control and direction marks become U+FFFD."""
    return _HIDDEN.sub("\ufffd", text)
