"""Variants of whole problem files, by rule: one idle clause with a number (noop), four rewrites each (thinkbench)."""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scapo.files import write_jsonl
from scapo.perturb.checks import Refusal, check
from scapo.perturb.checks.shared import answer_leak, bad_text
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.lexicon import lines, word_list
from scapo.perturb.rules import RULES_VERSION, perturb_by_rule
from scapo.perturb.rules.masking import CLOSE_STOP, mask, sentences, unmask
from scapo.perturb.spans import SpanKind, number_spans, spans, word_spans
from scapo.perturb.words import is_english
from scapo.problems import Problem
from scapo.problems import Refusal as LeftOut

VARIANTS = 4
SEEDS = 4
"""A kind that gives nothing is replaced by another kind under up to so many seeds."""
_ASKS = re.compile(r"(?:Find|What|How|Determine|Compute|Calculate|Evaluate|Which|In how many)\b")
_POINTS = re.compile(r"\b(?:it|its|this|these|that|those|they|them|their|such)\b", re.IGNORECASE)
_ENDED = re.compile(rf"""(?:[.?!]["”’)]*|{CLOSE_STOP})\s*$""")


def noop_rows(problem: Problem, seed: int) -> list[dict[str, Any]]:
    """One row: the text with one idle clause that has a number; none when no clause passes the check."""
    generator = _generator("noop", problem.problem, seed)
    clauses = list(lines("noop_clauses"))
    generator.shuffle(clauses)
    at = _place(problem.problem) if is_english(problem.problem) else None
    if at is None:
        return []
    for clause in clauses:
        added = clause.replace("{n}", str(generator.randint(12, 98)))
        text = _inserted(problem.problem, at, added)
        if noop_refusal(problem.problem, text, problem.answer) is None:
            return [_row(problem, "noop", text, seed)]
    return []


def noop_refusal(original: str, text: str, answer: str) -> Refusal | None:
    """Refuses all but the original with one clause put in that has one number, new, and nothing of the problem."""
    added = _added(original, text)
    if added is None:
        return Refusal("original_changed", "The original text does not stand unchanged around one clause.")
    numbers, known = number_spans(added), set(re.findall(r"\d+", original))
    if len(numbers) != 1 or numbers[0].text in known:
        return Refusal("not_one_number", f"The clause '{added}' must hold exactly one number, and a new one.")
    if any(span.kind is SpanKind.MATH for span in spans(added)):
        return Refusal("new_math", f"The clause '{added}' holds math.")
    shared = _content(added) & _content(original)
    if shared:
        return Refusal("about_the_problem", f"The clause speaks of '{sorted(shared)[0]}', as the text does.")
    return bad_text(original, text) or answer_leak(original, text, answer)


def thinkbench_rows(problem: Problem, seed: int) -> list[dict[str, Any]]:
    """Four rows with different texts of the same meaning, one per kind where it can be; none when four can't be had.

    Rewrites that the file already has (made by a model, say) come first, then rules; a kind without a rewrite is
    replaced by another kind under the next seed.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, text, used in _rewrites(problem, seed):
        if text not in found and check(Kind(name), problem.problem, text, problem.answer) is None:
            number = 1 + sum(row["variant"]["kind"] == name for row in found.values())
            suffix = name if number == 1 else f"{name}-{number}"
            found[text] = _row(problem, suffix, text, used, kind=name)
        if len(found) == VARIANTS:
            return list(found.values())
    return []


def _rewrites(problem: Problem, seed: int) -> Iterator[tuple[str, str, int | None]]:
    """(kind, text, seed; None for a rewrite the file has): each kind once, then again under further seeds."""
    there = problem.perturbations
    for turn in range(seed, seed + SEEDS):
        for kind in SEMIFACTUAL:
            if turn == seed and there.get(kind):
                yield str(kind), there[kind], None
            elif text := perturb_by_rule(kind, problem.problem, problem.answer, turn):
                yield str(kind), text, turn


def write_variants(
    problems: Sequence[Problem], out: Path, make: Callable[[Problem, int], list[dict[str, Any]]], seed: int
) -> tuple[int, list[LeftOut]]:
    """Write the rows of all problems; returns how many rows, and the problems for which there are none."""
    rows, left_out = [], []
    for number, problem in enumerate(problems, start=1):
        made = make(problem, seed)
        rows += made
        if not made:
            left_out.append(LeftOut(number, problem.id, "The rules found no safe variant of this text."))
    write_jsonl(out, rows)
    return len(rows), left_out


def _row(problem: Problem, suffix: str, text: str, seed: int | None, kind: str = "noop") -> dict[str, Any]:
    by = (
        {"generator": "file"}
        if seed is None
        else {"generator": "rules", "version": RULES_VERSION, "seed": seed}
    )
    extra = {k: v for k, v in problem.extra.items() if k not in ("perturbations", "provenance", "absent")}
    return {
        **extra, "id": f"{problem.id}-{suffix}", "problem": text, "answer": problem.answer,
        "source_id": problem.id, "variant": {"kind": kind, **by},
    }  # fmt: skip


def _place(text: str) -> int | None:
    """Where a sentence may be put in: before the last question that does not point back, else at the front."""
    masked = mask(text)
    if masked is None:
        return None
    parts = sentences(masked[0])
    for number in range(len(parts) - 1, 0, -1):
        asks = _ASKS.match(parts[number]) and not _POINTS.search(" ".join(parts[number].split()[:6]))
        if asks and _ENDED.search(parts[number - 1]):
            return len(unmask("".join(parts[:number]), masked[1]))
    return 0


def _inserted(text: str, at: int, added: str) -> str:
    gap = " " if at and not text[at - 1].isspace() else ""
    return f"{text[:at]}{gap}{added} {text[at:]}"


def _added(original: str, text: str) -> str | None:
    """The one piece that `text` has more than `original`; None when anything else differs."""
    extra = len(text) - len(original)
    if extra <= 0:
        return None
    start = next((i for i, (a, b) in enumerate(zip(original, text, strict=False)) if a != b), len(original))
    return text[start : start + extra] if text[start + extra :] == original[start:] else None


def _content(text: str) -> set[str]:
    return {span.text.lower() for span in word_spans(text)} - word_list("function_words")


def _generator(name: str, text: str, seed: int) -> random.Random:
    key = "\x1f".join((name, RULES_VERSION, str(seed), text)).encode("utf-8", "surrogatepass")
    return random.Random(int.from_bytes(hashlib.sha256(key).digest(), "big"))
