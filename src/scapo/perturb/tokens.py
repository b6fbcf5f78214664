"""A text as a flat list of words, marks and whole math spans, for comparing texts token by token."""

import re
from typing import NamedTuple

from scapo.perturb.spans import SpanKind, spans

_PIECE = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\s]")


class Tokens(NamedTuple):
    """`texts` as written; `folded` without case (math keeps its case)."""

    texts: list[str]
    folded: list[str]

    def join(self, start: int, end: int) -> str:
        return " ".join(self.texts[start:end])


def tokens(text: str) -> Tokens:
    """Cut a text; white space is dropped."""
    texts: list[str] = []
    folded: list[str] = []
    position = 0
    for span in spans(text):
        if span.kind is SpanKind.MATH:
            _pieces(text[position : span.start], texts, folded)
            texts.append(span.text)
            folded.append(span.text)
            position = span.end
    _pieces(text[position:], texts, folded)
    return Tokens(texts, folded)


def words_and_marks(text: str) -> list[str]:
    """Words and single punctuation marks of a text without math."""
    return _PIECE.findall(text)


def _pieces(text: str, texts: list[str], folded: list[str]) -> None:
    pieces = words_and_marks(text)
    texts.extend(pieces)
    folded.extend(piece.lower() for piece in pieces)
