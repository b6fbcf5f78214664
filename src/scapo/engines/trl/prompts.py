"""From a dataset row to its perturbed prompts, in the same form as the row's own prompt."""

from collections.abc import Mapping
from typing import Any

from scapo.errors import ScapoError

Prompt = str | list[dict[str, Any]]


def perturbed_prompt(row: Mapping[str, Any], kind: str, column: str, problem_column: str) -> Prompt | None:
    """The prompt of `row` with its problem rewritten as `kind`; None where the row has no such rewrite.

    A rewrite given as chat messages is used as it is. A rewrite given as text replaces the problem's text
    inside the last user message when the row has a `problem_column` (so a template around it stays), else the
    whole of that message.

    Raises:
        ScapoError: when the prompt does not hold the problem's text, or a rewrite has the wrong form.
    """
    rewrite = (row.get(column) or {}).get(kind)
    if not rewrite:
        return None
    prompt = row["prompt"]
    if isinstance(rewrite, list):
        return rewrite if isinstance(prompt, list) else _text_only(kind)
    if not isinstance(rewrite, str):
        raise ScapoError(
            f"Column {column!r} holds a {type(rewrite).__name__} for kind {kind!r}; it must be a text or a "
            "list of chat messages."
        )
    problem = row.get(problem_column)
    if isinstance(prompt, str):
        return _substitute(prompt, problem, rewrite, problem_column)
    turn = max((i for i, message in enumerate(prompt) if message["role"] == "user"), default=None)
    if turn is None:
        raise ScapoError(
            f"A prompt has no user message to rewrite; its roles are {[m['role'] for m in prompt]}."
        )
    content = _substitute(prompt[turn]["content"], problem, rewrite, problem_column)
    return [*prompt[:turn], {**prompt[turn], "content": content}, *prompt[turn + 1 :]]


def _substitute(content: str, problem: str | None, rewrite: str, problem_column: str) -> str:
    if problem is None:
        return rewrite
    if problem not in content:
        raise ScapoError(
            f"Column {problem_column!r} holds {problem[:60]!r}, which does not stand in the prompt "
            f"{content[:60]!r}. Give the perturbations as chat messages, or drop that column if a rewrite "
            "replaces the whole message."
        )
    return content.replace(problem, rewrite, 1)


def _text_only(kind: str) -> Prompt:
    raise ScapoError(
        f"The prompt is a plain text, but its {kind!r} rewrite is a list of chat messages; use one form."
    )
