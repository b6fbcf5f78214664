"""Spans of a response for CF-GRPO: arithmetic steps and sentences before the answer (arXiv:2602.09331).

Pure Python on text and token offsets; no model needed.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

MIN_TOKENS, MAX_TOKENS = 5, 50
MAX_SPANS = 10
MAX_ARITHMETIC = MAX_SPANS // 2
MAX_BACKSLASH_SHARE = 0.3

Span = tuple[int, int]

_ANSWER = re.compile(r"final answer|####", re.IGNORECASE)
_NUMBER = r"[-+]?\$?\d{1,20}(?:,\d{3}){0,9}(?:\.\d{1,20})?%?"  # bounded: hostile text must not hang a run
_OPERATOR = r"(?:[-+*/×÷·^]|\\times|\\cdot|\\div)"
_STEP = rf"\s{{0,9}}{_OPERATOR}\s{{0,9}}{_NUMBER}"
_ARITHMETIC = re.compile(rf"(?<![\d.,]){_NUMBER}(?:{_STEP}){{1,20}}\s{{0,9}}=\s{{0,9}}{_NUMBER}")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n\s*\n")


@dataclass(frozen=True, kw_only=True)
class ResponseSpans:
    """Token ranges (start, stop) of one response: up to 10 spans by position, and the answer region.

    answer is None when no answer marker was found; spans is empty then.
    """

    spans: tuple[Span, ...]
    answer: Span | None


def find_spans(text: str, offsets: Sequence[Span]) -> ResponseSpans:
    """The spans whose masking tells what the answer rests on.

    The answer region runs from the first "final answer" (any case) or "####", else from the first
    "\\boxed{", to the end. Before it: arithmetic (number operator number ... = number; at most 5), then
    sentences (ended by . ! ? or an empty line) that overlap none of these; 5 to 50 tokens, at most 30 %
    backslashes; the first 10 by position.

    Args:
        text: the decoded response. offsets: (start, stop) of each token in it, in characters.
    """
    start = _answer_start(text)
    if start is None:
        return ResponseSpans(spans=(), answer=None)
    arithmetic = [m.span() for m in _ARITHMETIC.finditer(text, 0, start)]
    arithmetic = [span for span in arithmetic if _usable(text, span, offsets)][:MAX_ARITHMETIC]
    sentences = [
        span
        for span in _sentences(text[:start])
        if _usable(text, span, offsets) and not any(_overlap(span, other) for other in arithmetic)
    ]
    chosen = sorted([*arithmetic, *sentences])[:MAX_SPANS]
    return ResponseSpans(
        spans=tuple(_tokens_of(span, offsets) for span in chosen),
        answer=(_tokens_of((start, len(text)), offsets)[0], len(offsets)),
    )


def _answer_start(text: str) -> int | None:
    marker = _ANSWER.search(text)
    if marker:
        return marker.start()
    boxed = text.find("\\boxed{")
    return boxed if boxed >= 0 else None


def _sentences(text: str) -> list[Span]:
    """Character ranges of the sentences that were ended, without the white space around them."""
    cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(text))]
    return [
        (a + len(piece) - len(piece.lstrip()), a + len(piece.rstrip()))
        for a, b in pairwise(cuts)
        if (piece := text[a:b]).strip()
    ]


def _usable(text: str, span: Span, offsets: Sequence[Span]) -> bool:
    first, last = _tokens_of(span, offsets)
    piece = text[span[0] : span[1]]
    return MIN_TOKENS <= last - first <= MAX_TOKENS and piece.count("\\") <= MAX_BACKSLASH_SHARE * len(piece)


def _tokens_of(span: Span, offsets: Sequence[Span]) -> Span:
    """Tokens that lie in a character range, at least in part."""
    first = bisect_right(offsets, span[0], key=lambda offset: offset[1])
    return first, max(first, bisect_left(offsets, span[1], key=lambda offset: offset[0]))


def _overlap(a: Span, b: Span) -> bool:
    return a[0] < b[1] and b[0] < a[1]
