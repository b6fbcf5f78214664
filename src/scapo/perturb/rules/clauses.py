"""Rewrites of whole sentences: conditions and weekdays moved, 'Let ... be' said otherwise."""

import re

from scapo.perturb.rules.english import anaphora, capital, has_name, small
from scapo.perturb.rules.masking import MATH

_ASKING = (
    r"(?:[Hh]ow (?:many|much|old|long|far|tall|fast)|[Ww]hat (?:is|are|was|were|fraction|percentage|percent)|"
    r"[Ff]ind|[Cc]ompute|[Dd]etermine|[Cc]alculate)\b"
)
_CONDITION_LAST = re.compile(
    rf"(?P<ask>{_ASKING}[^?]*?),? if (?P<condition>[^?]+?)\s*(?P<stop>[?.])(?P<end>\s*)", re.DOTALL
)
_CONDITION_FIRST = re.compile(
    rf"If (?P<condition>.+), (?:then )?(?P<ask>{_ASKING}[^?]*?)\s*(?P<stop>[?.])(?P<end>\s*)", re.DOTALL
)
_NOT_A_CONDITION = re.compile(
    r"\b(?:only|even|as|determine|see|know|decide|check|tell|and|or|but|what)$", re.IGNORECASE
)
_CLAUSE_START = re.compile(
    r"(?:the|a|an|each|every|he|she|they|it|there|his|her|their|its|we|you|I|both|all|no|\d+|[A-Z]\w+)\b|"
    rf"{MATH}"
)
_LET = re.compile(rf"Let (?P<names>{MATH}(?:(?:,? and |, | ){MATH})*) be (?P<what>.+)", re.DOTALL)
_LET_EQUATION = re.compile(rf"Let (?P<math>{MATH})(?=[.,]|\s|$)(?! be\b)(?P<rest>.*)", re.DOTALL)
_PLURAL = re.compile(
    r"(?:[a-z-]+ )*?(?:numbers|integers|constants|polynomials|points|vectors|roots|solutions|sets|functions|"
    r"foci|primes|sides|lengths|angles|lines|digits|coefficients)\b|the "
)
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_DAY_FIRST = re.compile(rf"(?P<day>On {_WEEKDAY}), (?P<clause>[^,;?]+)\.(?P<end>\s*)")
_DAY_LAST = re.compile(rf"(?P<clause>[^,;?]+) (?P<day>on {_WEEKDAY})\.(?P<end>\s*)")
_COMPLEX = re.compile(
    r"\b(?:and|or|but|than|as|that|who|which|when|while|if|because|so|before|after|since|until|to)\b"
)
_BASE_LAST = re.compile(rf"(?P<clause>{MATH} )(?P<base>in base {MATH}) (?P<rest>has .+)", re.DOTALL)
_MAX_MOVED = 240


def clause_forms(sentence: str, hidden: list[str]) -> list[str]:
    """Rewrites of one masked sentence; none when none is safe. `hidden` is the math of the placeholders."""
    makers = (_condition_first, _condition_last, _day_last, _day_first, _base_first)
    found = [made for made in (make(sentence) for make in makers) if made]
    return found + [made for made in (_let_be(sentence, hidden), _let_equation(sentence, hidden)) if made]


def _condition_first(sentence: str) -> str | None:
    """'How much is it if C?' -> 'If C, how much is it?'"""
    match = _CONDITION_LAST.fullmatch(sentence)
    if not match or sentence.count(" if ") > 1 or _NOT_A_CONDITION.search(match["ask"]):
        return None
    ask, condition = small(match["ask"]), match["condition"]
    if ask is None or not _CLAUSE_START.match(condition) or not _can_swap(condition, ask):
        return None
    return f"If {condition}, {ask}{match['stop']}{match['end']}"


def _condition_last(sentence: str) -> str | None:
    """'If C, how much is it?' -> 'How much is it if C?'"""
    match = _CONDITION_FIRST.fullmatch(sentence)
    if (
        not match
        or re.search(r"\bif\b", match["ask"] + match["condition"])
        or len(match["condition"]) > _MAX_MOVED
    ):
        return None
    ask, condition = match["ask"], match["condition"]
    if re.search(r", |\b(?:remaining|left|same|other|now|then|after)\b", ask) or not _can_swap(
        ask, condition
    ):
        return None
    return f"{capital(ask)} if {condition}{match['stop']}{match['end']}"


def _can_swap(first: str, second: str) -> bool:
    """True when `first` may stand before `second`: it must not point at what only `second` names."""
    pointing = anaphora(first)
    return not pointing or (pointing <= anaphora(second) and not has_name(second) and MATH[0] not in second)


def _day_last(sentence: str) -> str | None:
    """'On Monday, Walt walked home.' -> 'Walt walked home on Monday.'"""
    match = _DAY_FIRST.fullmatch(sentence)
    if not match or _COMPLEX.search(match["clause"]):
        return None
    return f"{capital(match['clause'])} {match['day'].replace('On', 'on')}.{match['end']}"


def _day_first(sentence: str) -> str | None:
    match = _DAY_LAST.fullmatch(sentence)
    clause = small(match["clause"]) if match and not _COMPLEX.search(match["clause"]) else None
    return f"{capital(match['day'])}, {clause}.{match['end']}" if match and clause else None


def _base_first(sentence: str) -> str | None:
    """'X in base b has 5 digits.' -> 'In base b, X has 5 digits.'"""
    match = _BASE_LAST.fullmatch(sentence)
    return f"{capital(match['base'])}, {match['clause']}{match['rest']}" if match else None


def _let_be(sentence: str, hidden: list[str]) -> str | None:
    """'Let x be a number.' -> 'Suppose that x is a number.'"""
    match = _LET.fullmatch(sentence)
    if not match:
        return None
    names = re.findall(MATH, match["names"])
    several = len(names) > 1 or bool(
        re.search(r",(?![^(]*\))", hidden[int(names[0][1:-1])].rstrip("$ ,").replace("\\", ""))
    )
    if several:
        return f"Suppose that {match['names']} are {match['what']}" if _PLURAL.match(match["what"]) else None
    return (
        f"Suppose that {match['names']} is {match['what']}"
        if re.match(r"an?\b|the\b", match["what"])
        else None
    )


def _let_equation(sentence: str, hidden: list[str]) -> str | None:
    """'Let x = 2.' -> 'Suppose that x = 2.'"""
    match = _LET_EQUATION.fullmatch(sentence)
    if not match or "=" not in hidden[int(match["math"][1:-1])] or re.match(r"\s?be\b", match["rest"]):
        return None
    return f"Suppose that {match['math']}{match['rest']}"
