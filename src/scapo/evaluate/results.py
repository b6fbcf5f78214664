"""From sample rows to `results.json`."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from scapo.evaluate.benchmarks import MATH_FAMILIES, OOD_FAMILIES
from scapo.evaluate.setting import SetPlan
from scapo.evaluate.statistics import Estimate, Scores, accuracy, average_of, pass_curve, powers_of_two

Rows = Iterable[dict[str, Any]]
WARN_TRUNCATED = 0.05


def scores_of(rows: Rows) -> dict[str, dict[str, list[float]]]:
    """`scores[set][problem]`: the samples' scores in sample order."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(rows, key=lambda row: row["sample"]):
        scores[row["suite"]][row["problem_id"]].append(row["score"])
    return {suite: dict(problems) for suite, problems in scores.items()}


def set_results(
    plan: SetPlan, rows: Sequence[dict[str, Any]], ks: Sequence[int] | None = None
) -> dict[str, Any]:
    """One set's entry of results.json."""
    scores = scores_of(rows)[plan.name]
    one = accuracy(scores)
    tokens = [row["tokens"] for row in rows if row["tokens"] is not None]
    return {
        "family": plan.family,
        "problems": one.problems,
        "available": plan.available,
        "samples": plan.samples,
        "responses": len(rows),
        "accuracy": one.value,
        "stderr": one.stderr,
        "truncation_rate": sum(row["truncated"] for row in rows) / len(rows),
        "mean_tokens": sum(tokens) / len(tokens) if tokens else None,
        "reasons": dict(Counter(row["reason"] for row in rows).most_common()),
        "pass_at_k": {
            str(k): _banded(e) for k, e in pass_curve(scores, ks or powers_of_two(plan.samples)).items()
        },
        **{name: value for name, value in plan.sampling.items() if name != "samples"},
        "source": plan.source,
        "digest": plan.digest,
        "notes": list(plan.notes),
    }


def _banded(one: Estimate) -> dict[str, float | None]:
    low, high = one.interval or (None, None)
    return {"value": one.value, "low": low, "high": high}


def family_estimates(families: dict[str, str], scores: dict[str, Scores]) -> dict[str, Estimate]:
    """Accuracy per family over all its years together: each problem counts once, as in the paper."""
    pooled: dict[str, dict[str, Sequence[float]]] = defaultdict(dict)
    for suite, problems in scores.items():
        pooled[families[suite]].update({f"{suite}/{problem}": s for problem, s in problems.items()})
    return {family: accuracy(problems) for family, problems in pooled.items()}


def averages(by_family: dict[str, Estimate]) -> dict[str, Estimate]:
    """The paper's two averages; only where every family of the group was evaluated."""
    groups = {"in-distribution average": MATH_FAMILIES, "out-of-distribution average": OOD_FAMILIES}
    return {
        name: average_of([by_family[family] for family in families])
        for name, families in groups.items()
        if all(family in by_family for family in families)
    }


def aggregates(plans: Sequence[SetPlan], rows: Rows) -> dict[str, dict[str, Any]]:
    """Families (all years together) and the averages: `{name: {sets, problems, accuracy, stderr}}`."""
    by_family = family_estimates({plan.name: plan.family for plan in plans}, dict(scores_of(rows)))
    sets = Counter(plan.family for plan in plans) | {name: len(plans) for name in averages(by_family)}
    return {
        name: {"sets": sets[name], "problems": one.problems, "accuracy": one.value, "stderr": one.stderr}
        for name, one in {**by_family, **averages(by_family)}.items()
    }


def common_sampling(plans: Sequence[SetPlan]) -> dict[str, Any]:
    """The sampling shared by all sets; `null` for what differs between them (each set states its own)."""
    first = plans[0].sampling
    return {
        name: value if all(p.sampling[name] == value for p in plans) else None
        for name, value in first.items()
    }


def truncation_warnings(suites: dict[str, dict[str, Any]]) -> list[str]:
    """One sentence on the sets where the limit cut so many responses that their accuracy means little."""
    cut = {name: entry["truncation_rate"] for name, entry in suites.items()}
    named = [f"{name} {rate:.0%}" for name, rate in cut.items() if rate > WARN_TRUNCATED]
    if not named:
        return []
    return [
        f"Responses were cut at --max-tokens or the model's context: {', '.join(named)}. A cut response seldom "
        "holds an answer; raise --max-tokens before reading these accuracies."
    ]
