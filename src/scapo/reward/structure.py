r"""Compare answers that consist of parts: lists, tuples, sets, intervals, unions, matrices, equations, `\pm`.

Parts are split in the text, so that every part is small when it reaches the algebra and nothing (order,
multiplicity, an ellipsis) is lost in between. Input is normalised text. Runs in a worker process only.
"""

import re
from collections.abc import Callable

from scapo.reward import algebra
from scapo.reward.literal import decide
from scapo.reward.number import NAME
from scapo.reward.outcome import Reason
from scapo.reward.text import canonical, closing, split, strip_group

_WORD = r",? ?(?:\\text ?\{{ ?,? ?(?:{0}) ?\}}|(?<![A-Za-z\\{{])(?:{0})(?![A-Za-z]))"
_OR = re.compile(_WORD.format("or") + r"|\\(?:lor|vee)(?![A-Za-z])", re.IGNORECASE)
_SEPARATOR = re.compile(_WORD.format("or|and") + r"|\\(?:lor|vee)(?![A-Za-z])|[,;]", re.IGNORECASE)
_COMMA = re.compile("[,;]")
_CUP = re.compile(r"\\cup(?![A-Za-z])")
_MATRIX = re.compile(r"\\begin ?\{([pbvBV]?matrix|array)\}(?:\{[lcr| ]*\})?(.*)\\end ?\{\1\}", re.DOTALL)
_MEMBER = re.compile(r"[A-Za-z](?:_\{?[A-Za-z0-9]\}?)? ?\\in(?![A-Za-z])")
_EQUALS = re.compile(r"(?<![<>!:\\])=")
_ELLIPSIS = re.compile(r"\\ldots(?![A-Za-z])|\.\.\.")
_PLUS_MINUS = re.compile(r"\\(?:pm|mp)(?![A-Za-z])")
_BRACKETS = {"(": ")", "[": "]", r"\{": r"\}"}


def equal(gold: str, box: str) -> bool:
    """Whether the box states the gold. Raises algebra.Unreadable when a part can't be parsed."""
    if canonical(gold) == canonical(box):
        return True
    if _ELLIPSIS.search(gold + box):
        return False  # "1, 2, ..., n" has no value that could be computed: as written or not at all
    gold, box = (_MEMBER.sub("", strip_group(text), count=1).strip() for text in (gold, box))
    for compare in (_as_lists, _as_matrices, _as_unions, _as_bracketed, _as_equations):
        if (same := compare(gold, box)) is not None:
            return same
    reason = decide(gold, box)
    return reason is Reason.CORRECT if reason else algebra.equal(gold, box)


def _as_lists(gold: str, box: str) -> bool | None:
    """Unordered, as often as written: `1, 2`, `x = 1 \\text{ or } x = 2`, `\\{1, 2\\}`, `3 \\pm 2`."""
    golds, boxes = _items(gold), _items(box)
    if len(golds) == 1 and len(boxes) == 1:
        return None if (golds, boxes) == ([gold], [box]) else equal(golds[0], boxes[0])
    if _OR.search(gold):  # alternatives may be one value in several spellings
        golds, boxes = _distinct(golds), _distinct(boxes)
    return _match(golds, boxes, equal)


def _items(text: str) -> list[str]:
    if inside := _inside(text, r"\{"):
        text = inside
    return [item for part in split(text, _SEPARATOR) for item in _both_signs(part)]


def _both_signs(text: str) -> list[str]:
    if not _PLUS_MINUS.search(text) or _inside(text, "(") or _inside(text, "["):
        return [text]
    plus = text.replace(r"\pm", "+").replace(r"\mp", "-")
    minus = text.replace(r"\pm", "-").replace(r"\mp", "+")
    return [plus.removeprefix("+").strip(), minus]


def _distinct(items: list[str]) -> list[str]:
    kept: list[str] = []
    for item in items:
        if not any(equal(other, item) for other in kept):
            kept.append(item)
    return kept


def _match(golds: list[str], boxes: list[str], same: Callable[[str, str], bool]) -> bool:
    """Whether the boxes are the golds in some order (each used once)."""
    if len(golds) != len(boxes):
        return False
    left = list(boxes)
    for gold in golds:
        found = next((at for at, box in enumerate(left) if same(gold, box)), None)
        if found is None:
            return False
        left.pop(found)
    return True


def _as_matrices(gold: str, box: str) -> bool | None:
    matrices = _MATRIX.fullmatch(gold), _MATRIX.fullmatch(box)
    if not matrices[0] or not matrices[1]:
        return None
    golds, boxes = ([row.split("&") for row in _rows(matrix[2])] for matrix in matrices if matrix)
    return [len(row) for row in golds] == [len(row) for row in boxes] and all(
        equal(g.strip(), b.strip())
        for gold_row, box_row in zip(golds, boxes, strict=True)
        for g, b in zip(gold_row, box_row, strict=True)
    )


def _rows(body: str) -> list[str]:
    return [row for row in body.split(r"\\") if row.strip()]


def _as_unions(gold: str, box: str) -> bool | None:
    """Part by part where both have as many, else the algebra decides ([1,2] and [2,3] may be joined)."""
    golds, boxes = split(gold, _CUP), split(box, _CUP)
    if len(golds) == 1 or len(golds) != len(boxes):
        return None
    return _match(golds, boxes, equal) or algebra.equal(gold, box)


def _as_bracketed(gold: str, box: str) -> bool | None:
    """Ordered: points, tuples, intervals, when both are in the same brackets and hold several parts."""
    for opening_bracket in ("(", "["):
        parts = [
            split(inside, _COMMA)
            for text in (gold, box)
            if (inside := _inside(text, opening_bracket, any_end=True))
        ]
        if len(parts) == 2 and gold[-1] == box[-1] and max(map(len, parts)) > 1:
            return len(parts[0]) == len(parts[1]) and all(map(equal, *parts))
    return None


def _as_equations(gold: str, box: str) -> bool | None:
    """`x = 2` states 2, and 2 states `x = 2`; equations with the same left name are compared on the right."""
    golds, boxes = split(gold, _EQUALS), split(box, _EQUALS)
    if len(golds) == 1 and len(boxes) == 1:
        return None
    named = NAME.fullmatch(golds[0]) is not None
    if len(golds) == 1 or (named and len(boxes) == 1):
        return equal(golds[-1], boxes[-1])
    if len(boxes) == 1:
        return False
    if named and canonical(golds[0]) == canonical(boxes[0]):
        return equal(golds[-1], boxes[-1])
    return algebra.equal(gold, box)


def _inside(text: str, opening_bracket: str, any_end: bool = False) -> str | None:
    """What stands between the outer brackets if one pair holds the whole text."""
    end = _BRACKETS[opening_bracket]
    ends = (")", "]") if any_end else (end,)
    if not text.startswith(opening_bracket) or not text.endswith(ends):
        return None
    if closing(text, len(opening_bracket) - 1) != len(text) - 1:
        return None
    return text[len(opening_bracket) : len(text) - len(end)].strip()
