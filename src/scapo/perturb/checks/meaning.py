"""Does a paraphrase still say and ask the same? Not a proof: it looks for words that change an answer."""

import re
from bisect import bisect_right
from functools import cache, lru_cache
from typing import NamedTuple

from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.lexicon import is_protected, lines
from scapo.perturb.spans import SpanKind, spans
from scapo.perturb.words import inner_capitals

_ASKS = re.compile(
    r"\?|？|[求请几何]|多少|什么|(?:^|[.!?:;,)\]}$]\s*|\n\s*|\b(?:then|and|or|please|you|we|to|first)\s+)"
    r"(?:find|determine|compute|calculate|evaluate|simplify|express|provide|solve|factori[sz]e|factor|expand|convert|"
    r"state|identify|enter|prove|figure out|work out|rewrite|reduce|round|estimate|answer)\b"
    r"|(?:^|[.!?:;)\]}$]\s*|\n\s*|\bplease\s+)(?:give|write|list|show|tell|name|say|how|what|which|who|add|multiply|"
    r"divide|count|construct|compare|explain|describe|decompose)\b"
    r"|,\s*(?:then\s+)?(?:how (?:many|much)|what (?:is|are|was|were))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n\s*\n")
_NOT = re.compile(
    r"\b(?:not|no|none|never|neither|nor|cannot|nobody|nothing|without)\b|n['’]t\b|[不没无未非]",
    re.IGNORECASE,
)
_ALMOST_NOT = re.compile(
    r"\b(?:unable|fail\w*|lack\w*|except\w*|exclu\w+|avoid\w*|absent|missing|refus\w+|un\w+able|in\w+[ai]ble|"
    r"incomplete|un\w+ed|unsold|until|too \w+|breaks?|done with|other than|"
    r"apart from|rather than|instead of|leaves? off|declin\w+|non-?(?!e\b|etheless)\w+)\b",
    re.IGNORECASE,
)
_START, _END = "(?<![a-z0-9_])", "(?![a-z0-9_])"
MAX_ASKED = 40
"""Longer formulas in a question are often its data, which may move to another sentence."""


class Keyword(NamedTuple):
    mode: str
    name: str
    pattern: re.Pattern[str]
    instead: re.Pattern[str] | None


def keyword_refusal(original: str, text: str) -> Refusal | None:
    """Refuses a rewrite that breaks a line of data/keywords.txt."""
    old, new = _said(original), _said(text)
    for keyword in _keywords():
        lost = keyword in old and keyword not in new
        came = keyword in new and keyword not in old
        if lost and keyword.mode in ("strict", "keep") and not _said_otherwise(keyword, text):
            return Refusal("keyword_lost", f"The rewrite no longer says anything like '{keyword.name}'.")
        if came and keyword.mode == "strict":
            return Refusal("keyword_new", f"The rewrite newly says something like '{keyword.name}'.")
        if came and any(other.mode == keyword.mode for other in old - new):
            return Refusal(
                "keyword_changed", f"The rewrite says '{keyword.name}' instead of another such word."
            )
    return None


def negation_refusal(original: str, text: str) -> Refusal | None:
    """Refuses more or fewer negations, unless words such as 'unable' or 'except' make up for it."""
    old, new = len(_NOT.findall(original)), len(_NOT.findall(text))
    if old == new or old + len(_ALMOST_NOT.findall(original)) == new + len(_ALMOST_NOT.findall(text)):
        return None
    return Refusal(
        "negation_changed", f"The original says 'not' or the like {old} times, the rewrite {new} times."
    )


def _said_otherwise(keyword: Keyword, text: str) -> bool:
    return keyword.instead is not None and keyword.instead.search(text.lower()) is not None


def name_refusal(original: str, text: str) -> Refusal | None:
    """Refuses a lost or new proper name (days and months aside: 'the following day' may stand for them)."""
    low_old, low_new = original.lower(), text.lower()
    for name in sorted(inner_capitals(original)):
        if name.lower() not in low_new and not is_protected(name):
            return Refusal("name_lost", f"The name {name} is missing.")
    for name in sorted(inner_capitals(text)):
        if name.lower() not in low_old and not is_protected(name):
            return Refusal("name_new", f"The name {name} is not in the original.")
    return None


@lru_cache(maxsize=64)
def _said(text: str) -> frozenset[Keyword]:
    """The keywords of a text: all their places are found in one search, then each is looked up."""
    low = " ".join(text.lower().split())
    return frozenset().union(*(_keywords_in(found) for found in set(_any_keyword().findall(low))))


@lru_cache(maxsize=4096)
def _keywords_in(phrase: str) -> frozenset[Keyword]:
    return frozenset(keyword for keyword in _keywords() if keyword.pattern.search(phrase))


@cache
def _any_keyword() -> re.Pattern[str]:
    bodies = (keyword.pattern.pattern.removeprefix(_START).removesuffix(_END) for keyword in _keywords())
    return re.compile(f"{_START}(?:{'|'.join(bodies)}){_END}")


@cache
def _keywords() -> tuple[Keyword, ...]:
    made = []
    for line in lines("keywords"):
        mode, name, words, *instead = re.split(r"\s+\|\s+", line.strip())
        made.append(Keyword(mode, name, _whole(words), _whole(instead[0]) if instead else None))
    return tuple(made)


def _whole(words: str) -> re.Pattern[str]:
    return re.compile(rf"{_START}(?:{words}){_END}")


def asked_refusal(original: str, text: str) -> Refusal | None:
    """Refuses a text that asks nothing any more, or whose question lost the math that was asked for."""
    if _ASKS.search(original) and not _ASKS.search(text):
        return Refusal("nothing_asked", "The rewrite no longer asks for anything.")
    lost = _asked_math(original) - _asked_math(text)
    return Refusal("other_question", f"The question is no longer about {sorted(lost)[0]}.") if lost else None


@lru_cache(maxsize=64)
def _asked_math(text: str) -> frozenset[str]:
    """The short math of the sentences that ask: `$m+n$` of 'Find $m+n$.'"""
    starts = [match.end() for match in _SENTENCE.finditer(text)]
    asking = {bisect_right(starts, match.end() - 1) for match in _ASKS.finditer(text)}
    short = [span for span in spans(text) if span.kind is SpanKind.MATH and len(span.text) <= MAX_ASKED]
    return frozenset(span.text for span in short if bisect_right(starts, span.start) in asking)
