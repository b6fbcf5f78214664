"""Hide math behind placeholders, so that rewrites of the prose can't touch it; cut text into sentences."""

import re

from scapo.perturb.spans import SpanKind, spans

OPEN, CLOSE, CLOSE_STOP = "\ue000", "\ue001", "\ue002"
"""Private-use characters; a placeholder is OPEN, the number of the span, and CLOSE (CLOSE_STOP when the math
holds the full stop of its sentence, as in `$x = 2.$`)."""
MATH = f"{OPEN}\\d+[{CLOSE}{CLOSE_STOP}]"
NUMBER = r"\$?(?:\d[\d,]*(?:\.\d+)?|\.\d+)"

_STOP_INSIDE = re.compile(r"[.?!]\s*(?:\$|\\\]|\\\))*\s*$|\[/asy\]$")
_PLACEHOLDER = re.compile(f"{OPEN}(\\d+)[{CLOSE}{CLOSE_STOP}]")
_BOUNDARY = re.compile(rf"""[.?!][\"”’)]*\s+|{CLOSE_STOP}\s*|\n\s*\n\s*""")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Jr|Sr|vs|etc|approx|Inc|Co|No|e\.g|i\.e|a\.m|p\.m)|\b[A-Z])\.\s+$"
)


def mask(text: str) -> tuple[str, list[str]] | None:
    """The text with placeholders for its math, and the math; None when it holds placeholder characters."""
    if any(char in text for char in (OPEN, CLOSE, CLOSE_STOP)):
        return None
    pieces: list[str] = []
    hidden: list[str] = []
    position = 0
    for span in spans(text):
        if span.kind is SpanKind.MATH:
            close = CLOSE_STOP if _STOP_INSIDE.search(span.text[-12:]) else CLOSE
            pieces += [text[position : span.start], f"{OPEN}{len(hidden)}{close}"]
            hidden.append(span.text)
            position = span.end
    return "".join(pieces) + text[position:], hidden


def unmask(masked: str, hidden: list[str]) -> str:
    """Put the math back."""
    return _PLACEHOLDER.sub(lambda match: hidden[int(match[1])], masked)


def sentences(masked: str) -> list[str]:
    """Sentences with their trailing white space: joined they are the text again."""
    cuts = [0]
    for match in _BOUNDARY.finditer(masked):
        tail = masked[max(cuts[-1], match.end() - 12) : match.end()]
        following = masked[match.end() : match.end() + 1]
        if not _ABBREVIATION.search(tail) and (
            following.isupper() or following.isdigit() or following in OPEN + '"“(['
        ):
            cuts.append(match.end())
    return [masked[a:b] for a, b in zip(cuts, [*cuts[1:], len(masked)], strict=True) if b > a]
