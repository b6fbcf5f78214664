"""From problems to an output file: ask a generator for what the journal lacks, then write every row once."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scapo.files import jsonl_line, output_lock, write_jsonl
from scapo.perturb.checks import check
from scapo.perturb.journal import Journal, Key, Result, problem_hash, reason_code
from scapo.perturb.kinds import Kind
from scapo.perturb.rules import RULES_VERSION, perturb_by_rule
from scapo.problems import Problem

NO_RULE = "no_safe_rewrite: the rules found no safe rewrite of this kind for this text"
STATUSES = ("made", "none", "refused")


@dataclass
class Summary:
    """Counts of one output: each kind's made + none + refused is the number of rows."""

    rows: int = 0
    by_kind: dict[Kind, Counter[str]] = field(default_factory=dict)
    generators: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    reasons: Counter[tuple[Kind, str]] = field(default_factory=Counter)

    def add(self, kind: Kind, result: Result) -> None:
        self.by_kind.setdefault(kind, Counter())[result.status] += 1
        if result.status == "made":
            self.generators[kind, result.provenance["generator"]] += 1
        else:
            self.reasons[kind, reason_code(result.reason)] += 1


def can_be_written(problem: Problem) -> bool:
    """False for a row that no JSONL file can hold: lone surrogates, or numbers that are not finite."""
    try:
        jsonl_line(problem.to_row()).encode()
    except ValueError:
        return False
    return True


def rules_journal_path(out: Path) -> Path:
    return out.with_name(f".{out.name}.rules.jsonl")


def rules_key(problem: Problem, kind: Kind, seed: int) -> Key:
    return Key(problem_hash(problem), kind, f"rules-{RULES_VERSION}/seed-{seed}")


def by_rule(problem: Problem, kind: Kind, seed: int) -> Result:
    """One rewrite by rule, checked like one from any other generator."""
    text = perturb_by_rule(kind, problem.problem, problem.answer, seed)
    if text is None:
        return Result(status="none", reason=NO_RULE)
    refusal = check(kind, problem.problem, text, problem.answer)
    if refusal is not None:
        return Result(status="refused", text=text, reason=str(refusal))
    provenance = {"generator": "rules", "version": str(RULES_VERSION), "seed": seed}
    return Result(status="made", text=text, provenance=provenance)


def generate_by_rules(
    problems: Iterable[Problem], kinds: Sequence[Kind], seed: int, journal: Journal, done: Callable[[], None]
) -> None:
    """Fill the journal with what it lacks. Rules are cheap to repeat, so nothing waits for the disk."""
    for problem in problems:
        keys = [rules_key(problem, kind, seed) for kind in kinds]
        missing = [key for key in keys if not journal.finished(key)]
        if missing:
            journal.write([(key, by_rule(problem, key.kind, seed)) for key in missing], sync=False)
        done()


def write_output(
    out: Path,
    problems: Iterable[Problem],
    kinds: Sequence[Kind],
    key_of: Callable[[Problem, Kind], Key],
    journal: Journal,
) -> Summary:
    """Write one row per problem, in the order of the input, from the journal's final results."""
    summary = Summary()

    def rows() -> Iterable[dict[str, Any]]:
        for problem in problems:
            summary.rows += 1
            results = {kind: journal.get(key_of(problem, kind)) for kind in kinds}
            yield output_row(problem, {kind: _final(result) for kind, result in results.items()}, summary)

    write_jsonl(out, rows())
    return summary


def _final(result: Result | None) -> Result:
    if result is None or not result.final:
        raise AssertionError("a key without a final result reached the output")
    return result


def output_row(problem: Problem, results: dict[Kind, Result], summary: Summary) -> dict[str, Any]:
    """A problem's row with its rewrites, their provenance, and the reason for each that is absent."""
    perturbations, provenance, absent = {}, {}, {}
    for kind, result in results.items():
        summary.add(kind, result)
        if result.status == "made":
            perturbations[str(kind)] = result.text
            provenance[str(kind)] = result.provenance
        else:
            text = {} if result.text is None else {"text": result.text}
            absent[str(kind)] = {"status": result.status, "reason": result.reason, **text}
    return {**problem.to_row(), "perturbations": perturbations, "provenance": provenance, "absent": absent}


def run_rules(
    problems: Sequence[Problem],
    out: Path,
    *,
    kinds: Sequence[Kind],
    seed: int,
    done: Callable[[], None] = lambda: None,
) -> Summary:
    """Perturb all problems by rule into `out`; a stopped run goes on where it stopped.

    The journal of a finished run is removed: to make it again costs less than to keep it.
    """
    path = rules_journal_path(out)
    with output_lock(out):
        with Journal(path) as journal:
            generate_by_rules(problems, kinds, seed, journal, done)
            summary = write_output(out, problems, kinds, lambda p, kind: rules_key(p, kind, seed), journal)
        path.unlink()
    return summary
