"""OlympiadBench answers: several values in any order, an optional unit, an error tolerance."""

import re
from collections.abc import Iterator

from scapo.reward import Reason, Score, score
from scapo.reward.extract import last_box

_DELIMITERS = re.compile(r"\\left|\\right|\\[,;!]|\$")
_FRACTION = re.compile(r"([+-]?)\\[dt]?frac\{(\d+)\}\{(\d+)\}")
_TEXT_TAIL = re.compile(r"\s*\\(?:text|mathrm|textrm|operatorname)\s*\{[^{}]*\}(?:\s*\^\s*\{?\d\}?)?\s*$")
_DEGREE_TAIL = re.compile(r"\s*(?:\^\s*\{?\s*\\circ\s*\}?|\\degree|°|degrees?)\s*$")


def grade_answers(
    completion: str, gold: str, *, several: bool = False, unit: str | None = None, error: float | None = None
) -> Score:
    """Score a completion: the whole answer, then without unit, within the tolerance, part by part."""
    whole = score(completion, gold)
    box = last_box(completion)
    if whole.value == 1 or box is None or whole.reason in (Reason.TIMEOUT, Reason.TOO_LONG):
        return whole
    bare = without_unit(box, unit) if unit else box
    bare_gold = without_unit(gold, unit) if unit else gold
    if (
        (bare != box and _same(bare, bare_gold))
        or (error is not None and _within(bare, bare_gold, error))
        or (several and _same_set(split_answers(bare), split_answers(bare_gold)))
    ):
        return Score(1.0, Reason.CORRECT, box)
    return whole


def _same(answer: str, gold: str) -> bool:
    return score(f"\\boxed{{{answer}}}", gold).value == 1


def _same_set(answers: list[str], golds: list[str]) -> bool:
    """Every gold finds its own answer and none is left over."""
    if len(answers) != len(golds):
        return False
    left = list(answers)
    for gold in golds:
        match = next((answer for answer in left if _same(answer, gold)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def split_answers(text: str) -> list[str]:
    """Parts at commas, semicolons and `and` outside brackets; `a \\pm b` counts as two parts."""
    clean = _DELIMITERS.sub(" ", text).replace("\\{", "").replace("\\}", "").replace("\\text{ and }", ",")
    parts = (part.strip() for part in _at_depth_zero(re.sub(r"\\?\band\b", ",", clean)))
    return [one for part in parts if part for one in _signs(part)]


def _at_depth_zero(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character in ",;" and depth <= 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _signs(part: str) -> list[str]:
    if "\\pm" not in part:
        return [part]
    return [part.replace("\\pm", sign).strip() for sign in ("+", "-")]


def without_unit(text: str, unit: str) -> str:
    """The value without the unit at its end, as a word, in `\\text{}`, as a degree or a percent sign."""
    bare = text.replace("$", "").strip()
    if "circ" in unit:
        return _DEGREE_TAIL.sub("", bare)
    if "%" in unit:
        return re.sub(r"\s*\\?%\s*$", "", bare)
    shortened = _TEXT_TAIL.sub("", bare)
    word = re.escape(unit.replace("$", "").rstrip("s"))
    return re.sub(rf"(?<=[\d}})])\s*{word}(?:s|utes?)?\s*$", "", shortened).strip()


def _within(answer: str, gold: str, error: float) -> bool:
    """Plain numbers no further apart than the tolerance (with room for the rounding of decimals)."""
    pair = _number(answer), _number(gold)
    return None not in pair and abs(pair[0] - pair[1]) <= error * (1 + 1e-9)  # type: ignore[operator]


def _number(text: str) -> float | None:
    clean = _DELIMITERS.sub("", text).strip()
    if fraction := _FRACTION.fullmatch(clean):
        value = int(fraction[2]) / int(fraction[3]) if int(fraction[3]) else None
        return value if value is None or fraction[1] != "-" else -value
    try:
        value = float(clean.replace(",", ""))
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None
