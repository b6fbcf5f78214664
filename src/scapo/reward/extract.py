"""Find the answer box of a completion. One pass, linear in the text, no windows."""

import re

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"

# A box command (also after doubled backslashes) with its brace or a bare number; an escaped sign; a brace.
_TOKEN = re.compile(
    r"(?:\\|(?<=\\))(?:boxed|fbox)(?![A-Za-z])\s*+(?:(?P<brace>\{)|(?P<bare>[-+−]?[0-9]++(?:[.,][0-9]++)*+))"
    r"|\\.|[{}]",
    re.DOTALL,
)


def visible_answer(completion: str) -> str:
    """The part outside the reasoning: after the last `</think>`, before a `<think>` that is never closed."""
    return completion.rpartition(THINK_CLOSE)[2].partition(THINK_OPEN)[0]


def last_box(completion: str) -> str | None:
    r"""Content of the last balanced `\boxed{...}` or `\fbox{...}` of the visible answer, else None.

    "Last" is the box that closes last, so of nested boxes the outer one. `\boxed 7` (a bare number) counts.
    Escaped braces `\{ \}` are text. A box that never closes (a truncated completion) doesn't count.
    """
    text = visible_answer(completion)
    found: tuple[int, int] | None = None  # a span: slices would copy nested boxes at every level
    open_boxes: list[int | None] = []  # per open brace: where the box's content starts, None for other braces
    for token in _TOKEN.finditer(text, _first_box(text)):
        if token["brace"]:
            open_boxes.append(token.end())
        elif token["bare"]:
            found = token.span("bare")
        elif token[0] == "{":
            open_boxes.append(None)
        elif token[0] == "}" and open_boxes and (start := open_boxes.pop()) is not None:
            found = (start, token.start())
    return text[slice(*found)] if found else None


def _first_box(text: str) -> int:
    """Where to start scanning: braces before the first box can't matter. The end when there is no box."""
    starts = [at - 1 for name in (r"\boxed", r"\fbox") if (at := text.find(name)) >= 0]
    return max(0, min(starts)) if starts else len(text)
