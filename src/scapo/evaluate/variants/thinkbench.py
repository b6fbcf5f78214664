"""ThinkBench variants: four meaning-preserving rewrites of each problem, as rows of their own."""

from collections.abc import Iterator
from typing import Any

from scapo.perturb.checks import check
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.rules import RULES_VERSION, perturb_by_rule
from scapo.problems import Problem

VARIANTS = 4
MORE_SEEDS = 20


def thinkbench_rows(problem: Problem, seed: int) -> list[dict[str, Any]]:
    """Up to four rows: stored rewrites first (of any generator), then rules, then further frames.

    A kind that has no safe rewrite (a paraphrase of a terse text) is replaced by another frame.
    """
    rows: list[dict[str, Any]] = []
    for kind, text, origin in _candidates(problem, seed):
        distinct = text not in {problem.problem, *(row["problem"] for row in rows)}
        if distinct and check(kind, problem.problem, text, problem.answer) is None:
            rows.append(_row(problem, kind, text, origin, len(rows) + 1))
        if len(rows) == VARIANTS:
            break
    return rows


def _candidates(problem: Problem, seed: int) -> Iterator[tuple[Kind, str, dict[str, Any]]]:
    stored = problem.perturbations
    provenance = problem.extra.get("provenance") or {}
    for kind in SEMIFACTUAL:
        if kind in stored:
            yield kind, stored[kind], provenance.get(kind) or {"generator": "unknown"}
        elif text := perturb_by_rule(kind, problem.problem, problem.answer, seed):
            yield kind, text, _rules(seed)
    for further in range(seed + 1, seed + 1 + MORE_SEEDS):
        if text := perturb_by_rule(Kind.SCENARIO_WRAP, problem.problem, problem.answer, further):
            yield Kind.SCENARIO_WRAP, text, _rules(further)


def _rules(seed: int) -> dict[str, Any]:
    return {"generator": "rules", "version": str(RULES_VERSION), "seed": seed}


def _row(problem: Problem, kind: Kind, text: str, origin: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "id": f"{problem.id}-v{number}",
        "problem": text,
        "answer": problem.answer,
        "source_id": problem.id,
        "variant": str(kind),
        "provenance": origin,
    }
