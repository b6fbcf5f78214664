"""Turn the cells of foreign data sets into plain problem and answer texts."""

import math
import re
from collections.abc import Mapping
from typing import Any

_WRAPPERS = (
    re.compile(  # DAPO-Math-17k
        r"\s*Solve the following math problem step by step\. The last line of your response should be "
        r"of the form Answer: \$?Answer.{0,80}?is the answer to the problem\.\s*(?P<problem>.*?)\s*"
        r"Remember to put your answer on its own line after \"Answer:\"\.?\s*",
        re.DOTALL,
    ),
    re.compile(  # the box instruction of the paper (and of Qwen's math models)
        r"(?P<problem>.*?)\s*(?:Please reason|Let's think) step by step,? and (?:put|output) (?:your|the) "
        r"final answer within \\+boxed\{\}\.?\s*",
        re.DOTALL,
    ),
)
_ASKS_FOR_ANSWER_LINE = re.compile(r"after \"Answer:\"|of the form Answer:")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FINAL_ANSWER = re.compile(r"\n\s*####\s*(.+?)\s*\Z")


class BadCell(ValueError):
    """A cell that can't be a problem or an answer; the message is a sentence."""


def problem_text(value: Any) -> tuple[str, bool]:
    """The bare problem of a text or of a chat's last user turn, and whether a prompt template came off."""
    text = _last_user_message(value) if isinstance(value, list) else value
    if not isinstance(text, str) or not text.strip():
        raise BadCell("The problem is empty." if not text else f"The problem is {_named(value)}, not a text.")
    for wrapper in _WRAPPERS:
        if (match := wrapper.fullmatch(text)) and match["problem"].strip():
            return match["problem"].strip(), True
    if _ASKS_FOR_ANSWER_LINE.search(text):
        raise BadCell(
            'The problem still asks for an "Answer:" line, but the reward reads \\boxed{}. Take it off.'
        )
    return text, False


def answer_text(value: Any) -> tuple[str, bool]:
    """The gold as text (numbers and lists too), and whether it was cut from a solution's `####` line."""
    if isinstance(value, list | tuple):
        return ", ".join(answer_text(part)[0] for part in value) if value else _no_answer(), False
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        _no_answer()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadCell(f"The answer is {_named(value)}, not a text or a number.")
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    if not text.strip():
        _no_answer()
    final = _FINAL_ANSWER.search(text)
    return (final[1], True) if final else (text, False)


def check_characters(row: Mapping[str, Any]) -> None:
    """Raises BadCell where a text of the row holds a character that no UTF-8 file can hold."""
    for name, value in row.items():
        if _holds_surrogate(name) or _holds_surrogate(value):
            column = name.encode("ascii", "backslashreplace").decode()
            raise BadCell(
                f"The column {column} holds half a surrogate pair, which no UTF-8 file can hold. Mend the text."
            )


def _holds_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return _SURROGATE.search(value) is not None
    if isinstance(value, Mapping):
        return any(_holds_surrogate(part) for pair in value.items() for part in pair)
    return isinstance(value, list | tuple) and any(map(_holds_surrogate, value))


def dedupe_key(problem: str) -> str:
    """Problems with the same key are the same problem: white space, case, doubled backslashes don't count."""
    return " ".join(problem.replace("\\\\", "\\").split()).casefold()


def _last_user_message(messages: list[Any]) -> Any:
    turns = [m for m in messages if isinstance(m, dict) and m.get("role") == "user"]
    return turns[-1].get("content") if turns else None


def _no_answer() -> str:
    raise BadCell("The answer is empty.")


def _named(value: Any) -> str:
    return f"of type {type(value).__name__}"
