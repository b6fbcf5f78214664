"""The one prompt template, for training and evaluation alike."""

from typing import Any

from scapo.problems.row import Problem

TEMPLATE = "{question}\n\nPlease reason step by step, and put your final answer within \\boxed{{}}."


def prompt_text(problem: Problem | str) -> str:
    """The paper's prompt for a problem (or for a rewrite of one, given as text)."""
    return TEMPLATE.format(question=problem.problem if isinstance(problem, Problem) else problem)


def chat_prompt(problem: Problem | str) -> list[dict[str, Any]]:
    """The prompt as the user turn of a chat."""
    return [{"role": "user", "content": prompt_text(problem)}]
