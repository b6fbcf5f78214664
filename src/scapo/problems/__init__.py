"""Problems: the row type, loaders, the prompt template, the length filter, the overlap check."""

from scapo.problems.columns import parse_columns
from scapo.problems.length import drop_overlong
from scapo.problems.load import load_problems
from scapo.problems.row import LoadedProblems, Problem, Refusal, text_id
from scapo.problems.template import chat_prompt, prompt_ids, prompt_text, render

__all__ = [
    "LoadedProblems",
    "Problem",
    "Refusal",
    "chat_prompt",
    "drop_overlong",
    "load_problems",
    "parse_columns",
    "prompt_ids",
    "prompt_text",
    "render",
    "text_id",
]
