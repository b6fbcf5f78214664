"""Other forms of the same question: 'How many did she sell?' -> 'Determine how many she sold.'"""

import random
import re

from scapo.perturb.lexicon import words as words_of
from scapo.perturb.rules.english import capital
from scapo.perturb.rules.masking import MATH
from scapo.perturb.rules.statements import BE_HAVE, BREAKS, MODALS, statement_order

_LEAD = re.compile(
    r"(?P<lead>(?:If|Given|Assuming|Considering|Supposing|Suppose)\b.*, (?:then )?|"
    r"(?:In|For) (?:the (?:diagram|figure)|"
    rf"(?:real |positive |triangle |rectangle )?(?:numbers? )?(?:{MATH},? (?:and )?)+)[^,]*, )?"
    r"(?P<question>(?:[Hh]ow|[Ww]hat)\b.*)\?(?P<end>\s*)",
    re.DOTALL,
)
_SECOND_QUESTION = re.compile(r"\b(?:and|or|,) (?:how|what|which|who|when|where|why)\b|\?")
_WHAT_IS = re.compile(
    r"[Ww]hat(?:['’]s| is| are| was| were) "
    rf"(?P<thing>(?:the|his|her|their|its|{MATH}|[A-Z]\w+['’]s) .+|{MATH})",
    re.DOTALL,
)
_NOT_A_THING = re.compile(
    rf"equal to$|^{MATH} (?:in|as|when|if|written|expressed|rounded)\b|^the (?:answer|name|color|reason)\b"
)
_COUNT = re.compile(
    rf"[Hh]ow many (?P<things>(?!more\b|fewer\b|less\b|total\b|times\b|of\b|are\b|different ways can)"
    rf"(?:[a-z-]+|{MATH}|\d+)(?: (?:[a-z-]+|{MATH}|\d+)){{0,7}}?) are (?P<there>there )?"
    r"(?P<rest>(?:in|on|at|such|for|to|between|from|that|whose|of|with)\b.*)",
    re.DOTALL,
)
_WAYS = re.compile(
    r"[Hh]ow many (?P<different>different |distinct )?ways are there to (?P<rest>[a-z]+\b.*)", re.DOTALL
)
_NOT_COUNTED = words_of("total all more fewer altogether")


def question_forms(sentence: str, generator: random.Random) -> list[str]:
    """Rewrites of a sentence that ends in one question; empty when none is safe."""
    match = _LEAD.fullmatch(sentence)
    if not match or _SECOND_QUESTION.search(match["question"]):
        return []
    lead, question, end = match["lead"] or "", match["question"], match["end"]
    found = [form for form in (_find_thing(question, generator), _embedded(question, generator)) if form]
    made = [_join(lead, form) + "." + end for form in found]
    return made + [
        _join(lead, form) + "?" + end for form in (_number_of(question), _in_how_many_ways(question)) if form
    ]


def _join(lead: str, form: str) -> str:
    return lead + form if lead else capital(form)


def _find_thing(question: str, generator: random.Random) -> str | None:
    """'What is the area of T?' -> 'find the area of T.'"""
    match = _WHAT_IS.fullmatch(question)
    if not match or _NOT_A_THING.search(match["thing"]):
        return None
    return f"{generator.choice(('find', 'determine'))} {match['thing']}"


def _number_of(question: str) -> str | None:
    """'How many diamonds are there in F?' -> 'what is the number of diamonds in F?'"""
    match = _COUNT.fullmatch(question)
    if not match or set(match["things"].split()) & (BREAKS | MODALS | BE_HAVE | _NOT_COUNTED):
        return None
    if not match["there"] and match["rest"].split()[0] not in ("in", "on", "at"):
        return None
    return f"what is the number of {match['things']} {match['rest']}"


def _in_how_many_ways(question: str) -> str | None:
    """'How many ways are there to arrange X?' -> 'in how many ways can one arrange X?'"""
    match = _WAYS.fullmatch(question)
    return f"in how many {match['different'] or ''}ways can one {match['rest']}" if match else None


def _embedded(question: str, generator: random.Random) -> str | None:
    """'How many clips did she sell in May?' -> 'determine how many clips she sold in May'"""
    statement = statement_order(question)
    return (
        f"{generator.choice(('determine', 'calculate', 'work out', 'find out'))} {statement}"
        if statement
        else None
    )
