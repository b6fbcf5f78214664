"""The one prompt template, for training and evaluation alike (the paper's), as a chat's user turn."""

from typing import Any

from scapo.errors import ScapoError
from scapo.problems.row import Problem

INSTRUCTION = "Please reason step by step, and put your final answer within \\boxed{}."


def prompt_text(problem: Problem | str) -> str:
    """The paper's prompt for a problem (or for a rewrite of one, given as text)."""
    question = problem.problem if isinstance(problem, Problem) else problem
    return f"{question}\n\n{INSTRUCTION}"


def chat_prompt(problem: Problem | str) -> list[dict[str, str]]:
    """The prompt as the user turn of a chat."""
    return [{"role": "user", "content": prompt_text(problem)}]


def render(tokenizer: Any, problem: Problem | str) -> str:
    """The prompt as the model sees it: through the tokenizer's chat template, ready for the answer."""
    if not getattr(tokenizer, "chat_template", None):
        name = getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
        raise ScapoError(
            f"The tokenizer of {name} has no chat template, so the prompt has no form. Use the model's "
            "own tokenizer, or add a chat_template.jinja to its folder."
        )
    text: str = tokenizer.apply_chat_template(
        chat_prompt(problem), tokenize=False, add_generation_prompt=True
    )
    return text


def prompt_ids(tokenizer: Any, problem: Problem | str) -> list[int]:
    """Token ids of the rendered prompt (the chat template brings its own special tokens)."""
    ids: list[int] = tokenizer(render(tokenizer, problem), add_special_tokens=False)["input_ids"]
    return ids
