"""Which characters of a problem text are math, numbers and words.

A text is cut into non-overlapping spans, left to right, in linear time whatever the text holds:
`math` (delimited LaTeX, bare commands, environments, [asy] blocks, code, expressions such as `x^2` or
`100_{10}`, single-letter variables), `number` (digits), `number_word` and `word`. White space and
punctuation belong to no span. Dollar signs before amounts of money do not open math.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from scapo.perturb.math_extent import match_braces, math_end
from scapo.perturb.values import NUMBER, Value, combine, number_value, part_value, word_value


class SpanKind(StrEnum):
    MATH = "math"
    NUMBER = "number"
    NUMBER_WORD = "number_word"
    WORD = "word"


class Span(NamedTuple):
    """`text[start:end]`; `value` is what a number or number word stands for, else None."""

    kind: SpanKind
    start: int
    end: int
    text: str
    value: Value | None = None


_CJK = "\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_NEXT = re.compile(
    r"(?P<word>[A-Za-z]{2,})(?=[.,;!?]|:(?!//)|\s|$)[.,;:!?]*"
    r"|(?P<close>```|\[asy\]|\$\$|\\\\?\(|\\\\?\[)|(?P<begin>\\\\?begin\{[A-Za-z]{1,20}\*?\})"
    r"|(?P<dollar>\$)|(?P<command>\\{1,2}[A-Za-z]+\*?)|(?P<escape>\\.?)|(?P<code>`)"
    rf"|(?P<cjk>[{_CJK}]+)|(?P<chunk>[^\s$\\`{_CJK}]+)",
    re.DOTALL,
)
_MATHY = re.compile(r"[_^={}<>|*+~@]|https?:|\d[A-Za-z]|[A-Za-z]\d|\b[A-Za-z]\(|\b[A-Za-z]/[A-Za-z\d]\b")
_TOKEN = re.compile(rf"{NUMBER}|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)")
_ATTACHED = re.compile(
    r"(?P<number>\d[\d,]*(?:\.\d+)?)(?P<unit>st|nd|rd|th|cm|mm|km|kg|mg|ml|lbs?|oz|ft|mph|m|g|am|pm|s|k|K|L|%)\b"
)
_EDGE = ".,;:!?\"'“”‘’)]"
_COMPOUND = re.compile(
    r"-(?!axis|axes|coordinate|intercept|plane|value|sided|gon|th\b|digit|element|fold)[a-z]{3}"
)
_PART_ENDS = re.compile(r"\s+(?:of|as|the)\b|\s*[.,;?)]|\s*$")
_VARIABLE_A = re.compile(r"\s*(?:[=+*/^<>,;.)?!]|$|-\s|and [b-zB-Z]\b)")


@lru_cache(maxsize=64)
def spans(text: str) -> tuple[Span, ...]:
    """All spans of `text` in order."""
    found: list[Span] = []
    position, braces = 0, match_braces(text) if "\\" in text else {}
    while match := _NEXT.search(text, position):
        start, position, kind = match.start(), match.end(), match.lastgroup
        if kind == "word":
            word = match["word"]
            value = word_value(word)
            kind_of = SpanKind.WORD if value is None else SpanKind.NUMBER_WORD
            found.append(Span(kind_of, start, start + len(word), word, value))
        elif kind == "cjk":
            found.append(Span(SpanKind.WORD, start, position, match[0]))
        elif kind == "chunk":
            _cut_chunk(text, start, position, found)
        elif end := math_end(text, match, braces):
            found.append(Span(SpanKind.MATH, start, end, text[start:end]))
            position = end
    return tuple(_merge_fractions(found, text))


def math_spans(text: str) -> list[str]:
    """The math of a text, character for character, in order."""
    return [span.text for span in spans(text) if span.kind is SpanKind.MATH]


def number_spans(text: str) -> list[Span]:
    """Numbers and number words outside math, in order."""
    return [span for span in spans(text) if span.value is not None]


def word_spans(text: str) -> list[Span]:
    """Ordinary words (number words are not among them), in order."""
    return [span for span in spans(text) if span.kind is SpanKind.WORD]


def _cut_chunk(text: str, start: int, end: int, found: list[Span]) -> None:
    """Cut one run without white space into an expression, or into numbers and words."""
    chunk = text[start:end]
    if _MATHY.search(chunk) and not _ATTACHED.match(chunk):
        inner = chunk.rstrip(_EDGE) if not chunk.endswith((")", "]")) else chunk
        if any(char.isalnum() for char in inner) or len(inner) == 1:
            left = len(inner) - len(inner.lstrip("\"'“‘"))
            found.append(Span(SpanKind.MATH, start + left, start + len(inner), inner[left:]))
            return
    for match in _TOKEN.finditer(text, start, end):
        found.append(_token(text, match))


def _token(text: str, match: re.Match[str]) -> Span:
    token, start, end = match[0], match.start(), match.end()
    if token[1:] in ("'s", "’s"):
        token, end = token[0], start + 1
    if not match["word"]:
        ordinal = text[end : end + 2] in ("st", "nd", "rd", "th") and not text[end + 2 : end + 3].isalnum()
        return Span(SpanKind.NUMBER, start, end, token, number_value(token, ordinal))
    if (value := word_value(token)) is not None:
        return Span(SpanKind.NUMBER_WORD, start, end, token, value)
    return Span(SpanKind.MATH if _is_variable(text, token, start, end) else SpanKind.WORD, start, end, token)


def _is_variable(text: str, token: str, start: int, end: int) -> bool:
    if (
        len(token) > 1
        or not token.isascii()
        or text[start - 1 : start] in ("'", "’", ".")
        or _COMPOUND.match(text, end)
    ):
        return False
    if token == "A" and text[max(0, start - 2) : start].strip(" ").isalpha():
        return True
    if token in "aA":
        return bool(_VARIABLE_A.match(text, end)) and text[end : end + 1] != "-"
    return token != "I" and text[end : end + 2] not in (".m", ".e", ".g")


def _merge_fractions(found: list[Span], text: str) -> list[Span]:
    """'two-thirds' and 'twenty-four' are one number each; 'a third of' is a part, 'a third child' not."""
    merged: list[Span] = []
    for span in found:
        if merged and span.kind is SpanKind.NUMBER_WORD and merged[-1].value is not None:
            last = merged[-1]
            between = text[last.end : span.start]
            value = combine(last.value, span.text, span.value) if between in ("-", " ") else None
            if value is not None:
                merged[-1] = Span(
                    SpanKind.NUMBER_WORD, last.start, span.end, text[last.start : span.end], value
                )
                continue
        if (
            isinstance(span.value, str)
            and merged
            and merged[-1].text.lower() in ("a", "an")
            and _PART_ENDS.match(text, span.end)
        ):
            span = span._replace(value=part_value(span.text) or span.value)
        merged.append(span)
    return merged
