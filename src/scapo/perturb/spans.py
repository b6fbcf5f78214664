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


_OPENER = re.compile(
    r"(?P<close>```|\[asy\]|\$\$|\\\\?\(|\\\\?\[)|(?P<begin>\\\\?begin\{(?P<env>[A-Za-z]{1,20}\*?)\})"
    r"|(?P<dollar>\$)|(?P<command>\\{1,2}[A-Za-z]+\*?)|(?P<escape>\\.?)|(?P<code>`)|(?P<chunk>[^\s$\\`]+)",
    re.DOTALL,
)
_CLOSER = {"```": "```", "[asy]": "[/asy]", "$$": "$$", "\\(": "\\)", "\\[": "\\]", "\\\\(": "\\\\)", "\\\\[": "\\\\]"}
_DOLLAR_BODY = re.compile(r"\$((?:[^$\\]|\\.)++)\$", re.DOTALL)
_PROSE = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{2,}")
_TEXT_ARGUMENT = re.compile(r"\\(?:text|mbox|textbf|textit|mathrm|operatorname)\s?\{[^{}]{0,400}\}")
_FUNCTIONS = frozenset("sin cos tan cot sec csc log ln exp lim max min gcd lcm mod det cm mm km kg mi ft in".split())
_EXPRESSION = re.compile(
    r"https?:.*|[\w.+-]+@[\w.-]+|\S*[_^={}<>|*+~\\]\S*|[A-Za-z]\([^()\s]{1,40}\)|\d*[A-Za-z]/[A-Za-z\d]"
    r"|\d+[A-Za-z]\w*|[A-Za-z]\d\w*"
)
_MATHY = re.compile(r"[_^={}<>|*+~@]|https?:|\d[A-Za-z]|[A-Za-z]\d|\b[A-Za-z]\(|\b[A-Za-z]/[A-Za-z\d]\b")
_TOKEN = re.compile(rf"{NUMBER}|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)")
_ATTACHED = re.compile(r"(?P<number>\d[\d,]*(?:\.\d+)?)(?P<unit>st|nd|rd|th|cm|mm|km|kg|mg|ml|lbs?|oz|ft|mph|m|g|am|pm|s|k|K|L|%)\b")
_EDGE = ".,;:!?\"'“”‘’)]"
_COMPOUND = re.compile(r"-(?!axis|axes|coordinate|intercept|plane|value|sided|gon|th\b|digit|element|fold)[a-z]{3}")
_PART_ENDS = re.compile(r"\s+(?:of|as|the)\b|\s*[.,;?)]|\s*$")
_VARIABLE_A = re.compile(r"\s*(?:[=+*/^<>,;.)?!]|$|-\s|and [b-zB-Z]\b)")


@lru_cache(maxsize=64)
def spans(text: str) -> tuple[Span, ...]:
    """All spans of `text` in order."""
    found: list[Span] = []
    position, braces = 0, _match_braces(text) if "\\" in text else {}
    while match := _OPENER.search(text, position):
        start = match.start()
        end = _math_end(text, match, braces)
        if end:
            found.append(Span(SpanKind.MATH, start, end, text[start:end]))
        elif match["chunk"]:
            end = match.end()
            _cut_chunk(text, start, end, found)
        position = end or match.end()
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


def _math_end(text: str, match: re.Match[str], braces: dict[int, int]) -> int:
    """Where the math opened by `match` ends; 0 when it opens none."""
    if opener := match["close"]:
        return _after(text, _CLOSER[opener], match.end())
    if match["begin"]:
        return _after(text, "\\end{" + match["env"] + "}", match.end())
    if match["dollar"]:
        return _dollar_end(text, match.start())
    if match["command"]:
        return _command_end(text, match.end(), braces)
    if match["code"]:
        return _after(text, "`", match.end())
    return match.end() if match["escape"] and match["escape"] != "\\$" else 0


def _after(text: str, closer: str, position: int) -> int:
    if _last(text, closer) < position:
        return 0
    return text.index(closer, position) + len(closer)


@lru_cache(maxsize=64)
def _last(text: str, closer: str) -> int:
    """Cached, so that a text full of openers without a closer is searched once."""
    return text.rfind(closer)


def _dollar_end(text: str, start: int) -> int:
    match = _DOLLAR_BODY.match(text, start)
    if not match:
        return 0
    body = match[1]
    money = body.lstrip()[:1].isdigit() or body.lstrip()[:1] == "."
    if money and (body[-1].isspace() or text[match.end():match.end() + 1].isdigit()):
        return 0
    prose = [w for w in _PROSE.findall(_TEXT_ARGUMENT.sub("", body)) if w not in _FUNCTIONS and not w.isupper()]
    return 0 if len(prose) > (0 if money else 2) else match.end()


def _command_end(text: str, end: int, braces: dict[int, int]) -> int:
    """A bare command takes its brace groups and sub- and superscripts along."""
    while end < len(text):
        at = end + (text[end] in "_^")
        if text[at:at + 1] == "{" and at in braces:
            end = braces[at] + 1
        elif at > end and text[at:at + 1].isalnum():
            end = at + 1
        else:
            break
    return end


def _match_braces(text: str) -> dict[int, int]:
    stack: list[int] = []
    pairs: dict[int, int] = {}
    for match in re.finditer(r"(?<!\\)[{}]", text):
        if match[0] == "{":
            stack.append(match.start())
        elif stack:
            pairs[stack.pop()] = match.start()
    return pairs


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
        ordinal = text[end:end + 2] in ("st", "nd", "rd", "th") and not text[end + 2:end + 3].isalnum()
        return Span(SpanKind.NUMBER, start, end, token, number_value(token, ordinal))
    if (value := word_value(token)) is not None:
        return Span(SpanKind.NUMBER_WORD, start, end, token, value)
    return Span(SpanKind.MATH if _is_variable(text, token, start, end) else SpanKind.WORD, start, end, token)


def _is_variable(text: str, token: str, start: int, end: int) -> bool:
    if len(token) > 1 or not token.isascii() or text[start - 1:start] in ("'", "’", ".") or _COMPOUND.match(text, end):
        return False
    if token == "A" and text[max(0, start - 2):start].strip(" ").isalpha():
        return True
    if token in "aA":
        return bool(_VARIABLE_A.match(text, end)) and text[end:end + 1] != "-"
    return token != "I" and text[end:end + 2] not in (".m", ".e", ".g")


def _merge_fractions(found: list[Span], text: str) -> list[Span]:
    """'two-thirds' and 'twenty-four' are one number each; 'a third of' is a part, 'a third child' an ordinal."""
    merged: list[Span] = []
    for span in found:
        if merged and span.kind is SpanKind.NUMBER_WORD and merged[-1].value is not None:
            last = merged[-1]
            between = text[last.end:span.start]
            value = combine(last.value, span.text, span.value) if between in ("-", " ") else None
            if value is not None:
                merged[-1] = Span(SpanKind.NUMBER_WORD, last.start, span.end, text[last.start:span.end], value)
                continue
        if isinstance(span.value, str) and merged and merged[-1].text in ("a", "an") and _PART_ENDS.match(text, span.end):
            span = span._replace(value=part_value(span.text) or span.value)
        merged.append(span)
    return merged
