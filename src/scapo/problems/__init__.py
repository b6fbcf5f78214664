"""Problems: the row type, loaders, the prompt template, the length filter."""

from scapo.problems.load import load_problems
from scapo.problems.row import LoadedProblems, Problem, Refusal
from scapo.problems.template import chat_prompt, prompt_text

__all__ = ["LoadedProblems", "Problem", "Refusal", "chat_prompt", "load_problems", "prompt_text"]
