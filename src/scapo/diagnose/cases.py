"""Case studies: whole groups of responses with drift, stability and advantages, token by token.

Shape suffixes: _K kinds of rewrite, _G responses of the group, _T response tokens.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from scapo.algorithm import (
    augmented_advantage,
    group_stability,
    outcome_advantage,
    semifactual_correction,
)
from scapo.diagnose.panel import Scored, Scorer
from scapo.diagnose.sources import Response, Source
from scapo.problems import Problem
from scapo.reward import Score, score_batch

TRIES = 3  # problems looked at per case wanted, in search of groups with right and wrong answers


def collect_cases(
    source: Source,
    scorer: Scorer,
    problems: Sequence[Problem],
    *,
    count: int,
    group: int,
    lam: float,
    done: Collection[str],
    keep: Callable[[dict[str, Any]], None],
) -> int:
    """Hand groups of at most `group` responses to `keep` until there are `count`; returns their number.

    `done` names problems whose groups an earlier run kept.

    Groups with right and wrong answers come first, in file order, since the others have no advantage to
    show; after `TRIES` problems per case the groups without outcome signal fill the rest.
    """
    rest: list[Problem] = []
    kept = len(done)
    for problem in _with_groups(source, problems, group)[: TRIES * count]:
        if kept >= count:
            return kept
        if problem.id in done:
            continue
        responses, scores = draw_group(source, problem, group)
        if len(responses) < 2:
            continue
        if len({score.value for score in scores}) > 1:
            keep(case_row(scorer, responses, scores, lam))
            kept += 1
        else:
            rest.append(problem)
    for problem in rest[: max(0, count - kept)]:
        keep(case_row(scorer, *draw_group(source, problem, group), lam))
        kept += 1
    return kept


def _with_groups(source: Source, problems: Sequence[Problem], group: int) -> list[Problem]:
    """Problems with two responses or more: one alone has no group to be compared with."""
    return [problem for problem in problems if source.samples(problem, group) > 1]


def draw_group(source: Source, problem: Problem, group: int) -> tuple[list[Response], list[Score]]:
    """A problem's responses with their scores; responses without a single token are left out."""
    wanted = [(problem, sample) for sample in range(source.samples(problem, group))]
    responses = [response for response in source.draw(wanted) if response.ids]
    return responses, score_batch([r.completion for r in responses], [problem.answer] * len(responses))


def case_row(
    scorer: Scorer, responses: Sequence[Response], scores: Sequence[Score], lam: float
) -> dict[str, Any]:
    """One row of cases.jsonl (docs/files.md)."""
    problem = responses[0].problem
    scored = scorer.score(responses)
    result = scored.result
    group_G = torch.zeros(len(responses), dtype=torch.long, device=result.mask.device)
    u_GT = group_stability(result.drift, result.mask, group_G, result.present)
    reward_G = torch.tensor([score.value for score in scores], device=result.mask.device)
    advantage_G = outcome_advantage(reward_G, group_G)
    correction_GT = semifactual_correction(u_GT, result.mask)
    after_GT = augmented_advantage(advantage_G, correction_GT, lam)
    return {
        "problem_id": problem.id,
        "prompt": problem.problem,
        "answer": problem.answer,
        "lambda": lam,
        "perturbations": {kind: problem.perturbations[kind] for kind in scored.kinds_of(0, scorer.kinds)},
        "responses": [
            {
                "reward": score.value,
                "reason": str(score.reason),
                "advantage": float(advantage_G[n]),
                **_tokens(scorer, scored, n),
                "u": u_GT[n, result.mask[n]].tolist(),
                "advantage_augmented": after_GT[n, result.mask[n]].tolist(),
            }
            for n, score in enumerate(scores)
        ],
    }


def _tokens(scorer: Scorer, scored: Scored, n: int) -> dict[str, Any]:
    """Texts, classes and drift of row n's tokens."""
    response, kinds = scored.responses[n], scored.kinds_of(n, scorer.kinds)
    there_K, mask_T = scored.result.present[:, n], scored.result.mask[n]
    drift_KT = scored.result.drift[there_K, n][:, mask_T]
    return {
        "tokens": scorer.texts.readable(response.ids),
        "classes": [str(name) for name in scorer.classes(response)],
        "drift": dict(zip(kinds, drift_KT.tolist(), strict=True)),
        "mean_drift": drift_KT.double().mean(dim=0).tolist(),
    }
