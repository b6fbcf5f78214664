"""The journal beside an output: every result as it came, so that a stopped run pays for nothing twice.

`OUT.journal.jsonl` holds one JSON object a line, of two sorts:
* `{"record": "result", ...}`: what became of one kind of one problem (a later line for the same key wins);
* `{"record": "request", ...}`: what became of one call to a model, with its tokens and cost.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.files import cut_torn_tail, jsonl_line, read_jsonl, write_jsonl
from scapo.perturb.kinds import Kind
from scapo.problems import Problem


def problem_hash(problem: Problem) -> str:
    """What a result belongs to: the problem's text and answer, whatever its id or place in the file."""
    return hashlib.sha256(f"{problem.problem}\0{problem.answer}".encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Key:
    """What was asked for: one kind of one problem, by one version of rules or prompt, from one model."""

    problem: str
    kind: Kind
    version: str
    model: str = ""

    def digest(self) -> bytes:
        return hashlib.blake2b(
            "\0".join((self.problem, self.kind, self.version, self.model)).encode(), digest_size=12
        ).digest()


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of a key: `made` has a text and its provenance, `none` and `refused` have a reason.

    `final` is False for a refusal that will be asked again; `attempts` counts the calls spent on the key.
    """

    status: str
    text: str | None = None
    reason: str | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    attempts: int = 1
    final: bool = True


@dataclass(frozen=True, kw_only=True)
class Call:
    """What became of one request to a model: `ok`, or a fault's code with its reason."""

    status: str
    count: int = 1
    reason: str = ""
    problem: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


def reason_code(reason: str | None) -> str:
    """The code of a stored reason, which reads `code: sentence`."""
    return (reason or "unknown").partition(":")[0]


def journal_path(out: Path) -> Path:
    return out.with_name(out.name + ".journal.jsonl")


class Journal:
    """Results by key, kept on disk; memory holds one small index entry per key.

    `calls`, `results` and `refusals` count statuses and refusal codes, of this and of earlier processes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        cut_torn_tail(path)
        self._file = path.open("ab")
        self._places: dict[bytes, tuple[int, bool]] = {}
        self.calls: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.tokens_in = self.tokens_out = 0
        self.cost = 0.0
        self._size = 0
        self._read_all()
        self._reader = path.open("rb")

    def _read_all(self) -> None:
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    row = json.loads(line)
                    self._note(row)
                except (ValueError, KeyError, TypeError) as error:
                    raise ScapoError(
                        f"{self.path}, line {number}: not a journal record ({error!r}). "
                        "Remove that line, or move the file away to begin again."
                    ) from error
                self._size += len(line)

    def _note(self, row: dict[str, Any]) -> None:
        if row["record"] == "result":
            self._places[_key(row).digest()] = (self._size, row["final"])
            self.results[row["status"]] += 1
            if row["status"] == "refused":
                self.refusals[reason_code(row["reason"])] += 1
        elif row["record"] == "request":
            self.calls[row["status"]] += row["count"]
            self.tokens_in += row["tokens_in"]
            self.tokens_out += row["tokens_out"]
            self.cost += row["cost"]

    def finished(self, key: Key) -> bool:
        """True where the key has its final result and is never asked again."""
        return self._places.get(key.digest(), (0, False))[1]

    def get(self, key: Key) -> Result | None:
        """The latest result of the key, final or not."""
        place = self._places.get(key.digest())
        if place is None:
            return None
        self._reader.seek(place[0])
        row = json.loads(self._reader.readline())
        return Result(**{name: row[name] for name in Result.__dataclass_fields__})

    def write(self, entries: Sequence[tuple[Key, Result] | Call], *, sync: bool) -> None:
        """Append in one write; with `sync` the entries are on the disk when this returns."""
        rows = [_row(entry) for entry in entries]
        lines = [jsonl_line(row).encode() for row in rows]
        self._file.write(b"".join(lines))
        self._file.flush()
        if sync:
            self.sync()
        for row, line in zip(rows, lines, strict=True):
            self._note(row)
            self._size += len(line)

    def sync(self) -> None:
        """Return when everything written so far is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._reader.close()
        self._file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _key(row: dict[str, Any]) -> Key:
    return Key(row["problem"], Kind(row["kind"]), row["version"], row["model"])


def _row(entry: tuple[Key, Result] | Call) -> dict[str, Any]:
    if isinstance(entry, Call):
        return {"record": "request", **vars(entry)}
    key, result = entry
    return {"record": "result", **vars(key), **vars(result)}


def compact(path: Path) -> tuple[int, int]:
    """Drop superseded results and add up calls by status; returns the number of lines before and after."""
    cut_torn_tail(path)
    results: dict[bytes, dict[str, Any]] = {}
    calls: dict[str, dict[str, Any]] = {}
    before = 0
    for _, row in read_jsonl(path):
        before += 1
        if row["record"] == "result":
            results[_key(row).digest()] = row
        elif row["status"] in calls:
            for name in ("count", "tokens_in", "tokens_out", "cost"):
                calls[row["status"]][name] += row[name]
        else:
            calls[row["status"]] = {**row, "reason": "", "problem": ""}
    rows = [*results.values(), *calls.values()]
    write_jsonl(path, rows)
    return before, len(rows)
