"""Leave out problems whose prompt is too long; nothing is ever cut."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from scapo.problems.row import Problem
from scapo.problems.template import prompt_ids


class Dropped(NamedTuple):
    """A problem left out: the longest of its prompts and which one that is (`problem` or a kind)."""

    id: str
    tokens: int
    which: str


def drop_overlong(
    problems: Sequence[Problem], tokenizer: Any, max_tokens: int, kinds: Collection[str] | None = None
) -> tuple[list[Problem], list[Dropped]]:
    """Split problems into those whose prompt and every rewrite (of `kinds`, or all) fit, and the others."""
    kept, dropped = [], []
    for problem in problems:
        texts = {"problem": problem.problem, **problem.perturbations}
        lengths = {
            name: len(prompt_ids(tokenizer, text))
            for name, text in texts.items()
            if name == "problem" or kinds is None or name in kinds
        }
        longest = max(lengths, key=lambda name: lengths[name])
        if lengths[longest] <= max_tokens:
            kept.append(problem)
        else:
            dropped.append(Dropped(problem.id, lengths[longest], longest))
    return kept, dropped
