"""Where a piece of math ends that an opener of spans.py begins; linear in the text, all told."""

import re
from functools import lru_cache

from scapo.perturb.lexicon import words

_CLOSER = {
    "```": "```",
    "[asy]": "[/asy]",
    "$$": "$$",
    "\\(": "\\)",
    "\\[": "\\]",
    "\\\\(": "\\\\)",
    "\\\\[": "\\\\]",
}
_DOLLAR_BODY = re.compile(r"\$((?:[^$\\]|\\.)++)\$", re.DOTALL)
_PROSE = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{2,}")
_TEXT_ARGUMENT = re.compile(r"\\(?:text|mbox|textbf|textit|mathrm|operatorname)\s?\{[^{}]{0,400}\}")
_FUNCTIONS = words("sin cos tan cot sec csc log ln exp lim max min gcd lcm mod det cm mm km kg mi ft in")


def math_end(text: str, match: re.Match[str], braces: dict[int, int]) -> int:
    """Where the math opened by `match` ends; 0 when it opens none."""
    opener, end = match[0], match.end()
    match match.lastgroup:
        case "close":
            return _after(text, _CLOSER[opener], end)
        case "begin":
            return _after(text, opener.replace("begin", "end"), end)
        case "dollar":
            return _dollar_end(text, match.start())
        case "command":
            return _command_end(text, end, braces)
        case "code":
            return _after(text, "`", end)
        case _:
            return 0 if opener == "\\$" else end


def _after(text: str, closer: str, position: int) -> int:
    """Behind the next closer; 0 when there is none."""
    if _last(text, closer) < position:
        return 0
    return text.index(closer, position) + len(closer)


@lru_cache(maxsize=64)
def _last(text: str, closer: str) -> int:
    """Cached, so that a text full of openers without a closer is searched once."""
    return text.rfind(closer)


def _dollar_end(text: str, start: int) -> int:
    """Behind the closing dollar; 0 when the dollars are money ('$5 each and $6') or enclose prose."""
    match = _DOLLAR_BODY.match(text, start)
    if not match:
        return 0
    body = match[1]
    money = body.lstrip()[:1].isdigit() or body.lstrip()[:1] == "."
    if money and (body[-1].isspace() or text[match.end() : match.end() + 1].isdigit()):
        return 0
    prose = [
        w for w in _PROSE.findall(_TEXT_ARGUMENT.sub("", body)) if w not in _FUNCTIONS and not w.isupper()
    ]
    return 0 if len(prose) > (0 if money else 2) else match.end()


def _command_end(text: str, end: int, braces: dict[int, int]) -> int:
    """A bare command takes its brace groups and sub- and superscripts along."""
    while end < len(text):
        at = end + (text[end] in "_^")
        if text[at : at + 1] == "{" and at in braces:
            end = braces[at] + 1
        elif at > end and text[at : at + 1].isalnum():
            end = at + 1
        else:
            break
    return end


def match_braces(text: str) -> dict[int, int]:
    """Position of each opening brace that has a partner, and its partner's."""
    stack: list[int] = []
    pairs: dict[int, int] = {}
    for match in re.finditer(r"(?<!\\)[{}]", text):
        if match[0] == "{":
            stack.append(match.start())
        elif stack:
            pairs[stack.pop()] = match.start()
    return pairs
