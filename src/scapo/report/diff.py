"""What a rewrite changed, as pieces to mark: word by word, and letter by letter inside a changed word."""

import re
from difflib import SequenceMatcher
from typing import NamedTuple

_PIECES = re.compile(r"\w+|\s+|[^\w\s]")
MAX_PIECES = 2000  # beyond this the quadratic matcher is not worth its time; the middle is shown as replaced
MAX_LETTERS = 60


class Piece(NamedTuple):
    """A stretch of text and what happened to it: "same", "added" or "removed"."""

    kind: str
    text: str


def word_diff(original: str, rewrite: str) -> list[Piece]:
    """Pieces that spell the rewrite without the removed ones, and the original without the added ones."""
    if original == rewrite:
        return [Piece("same", original)] if original else []
    before, after = _PIECES.findall(original), _PIECES.findall(rewrite)
    if max(len(before), len(after)) > MAX_PIECES:
        return _join(_ends(original, rewrite))
    return _join(_match(before, after))


def _match(before: list[str], after: list[str]) -> list[Piece]:
    pieces: list[Piece] = []
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old, new = "".join(before[i:j]), "".join(after[k:m])
        one_word = j - i == 1 and m - k == 1 and max(len(old), len(new)) <= MAX_LETTERS
        if tag == "equal":
            pieces.append(Piece("same", old))
        elif one_word and SequenceMatcher(None, old, new, autojunk=False).ratio() >= 0.7:
            pieces += _match(list(old), list(new)) if len(old) > 1 and len(new) > 1 else _replace(old, new)
        else:
            pieces += _replace(old, new)
    return pieces


def _replace(old: str, new: str) -> list[Piece]:
    return [Piece("removed", old), Piece("added", new)]


def _ends(original: str, rewrite: str) -> list[Piece]:
    """Common start and end kept, the middle replaced: linear time for very long texts."""
    limit = min(len(original), len(rewrite))
    start = next((i for i in range(limit) if original[i] != rewrite[i]), limit)
    end = next((i for i in range(limit - start) if original[-1 - i] != rewrite[-1 - i]), limit - start)
    middle = _replace(original[start : len(original) - end], rewrite[start : len(rewrite) - end])
    return [Piece("same", original[:start]), *middle, Piece("same", original[len(original) - end :])]


def _join(pieces: list[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for piece in pieces:
        if piece.text and joined and joined[-1].kind == piece.kind:
            joined[-1] = Piece(piece.kind, joined[-1].text + piece.text)
        elif piece.text:
            joined.append(piece)
    return joined
