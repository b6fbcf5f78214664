"""`paraphrase`: safe rewrites of the prose between the math.

Every rewrite keeps the meaning wherever its pattern fits: other question forms (questions.py), moved
conditions (clauses.py), phrases that say the same (data/phrases.txt). Where none fits there is no paraphrase.
"""

import random
import re
from functools import cache
from typing import NamedTuple

from scapo.perturb.lexicon import lines
from scapo.perturb.rules.clauses import clause_forms
from scapo.perturb.rules.english import article_fits, same_case
from scapo.perturb.rules.masking import MATH, NUMBER, mask, sentences, unmask
from scapo.perturb.rules.questions import question_forms
from scapo.perturb.words import is_english

MAX_SENTENCES, MAX_PHRASES = 2, 4
MAX_CHARACTERS = 20_000
_GROUP = re.compile(r"\([^()]*\)[?*+]?")
_NOT_LITERAL = re.compile(r"\[[^\]]*\][?*+]?|\\[a-zA-Z0-9][?*+]?|[a-z ][?*]")
_SENTENCE_START = "(?:(?<=^)|(?<=[.?!] )|(?<=[.?!]  )|(?<=\ue002)|(?<=\ue002 )|(?<=\n))"


class Edit(NamedTuple):
    start: int
    end: int
    new: str


class Rule(NamedTuple):
    pattern: re.Pattern[str]
    alternatives: list[str]
    literal: str


def paraphrase(problem: str, generator: random.Random) -> str | None:
    """Reword up to two sentences and four phrases; None when nothing safe applies."""
    masked = mask(problem) if is_english(problem) and len(problem) <= MAX_CHARACTERS else None
    if masked is None:
        return None
    text, hidden = masked
    text = _reword_phrases(_reword_sentences(text, hidden, generator), generator)
    result = unmask(text, hidden)
    return result if result != problem else None


def _reword_sentences(text: str, hidden: list[str], generator: random.Random) -> str:
    parts = sentences(text)
    order = list(range(len(parts)))
    generator.shuffle(order)
    done = 0
    for at in order:
        forms = question_forms(parts[at], generator) + clause_forms(parts[at], hidden)
        if forms and done < MAX_SENTENCES:
            parts[at] = generator.choice(forms)
            done += 1
    return "".join(parts)


def _reword_phrases(text: str, generator: random.Random) -> str:
    low = text.lower()
    edits = [edit for rule in _rules() if rule.literal in low for edit in _edits(rule, text, generator)]
    generator.shuffle(edits)
    chosen: list[Edit] = []
    for edit in edits:
        if len(chosen) < MAX_PHRASES and all(
            edit.end <= other.start or edit.start >= other.end for other in chosen
        ):
            chosen.append(edit)
    for edit in sorted(chosen, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def _edits(rule: Rule, text: str, generator: random.Random) -> list[Edit]:
    found = []
    for match in rule.pattern.finditer(text):
        new = same_case(match.expand(generator.choice(rule.alternatives)), match[0])
        if article_fits(text[: match.start()][-8:], new):
            found.append(Edit(match.start(), match.end(), new))
    return found


@cache
def _rules() -> tuple[Rule, ...]:
    """data/phrases.txt compiled."""
    rules = []
    for line in lines("phrases"):
        pattern, _, news = line.partition(" => ")
        literal = literal_of(pattern)
        pattern = pattern.replace("§", f"(?:{MATH})").replace("#", NUMBER)
        if pattern.startswith("@"):
            pattern = _SENTENCE_START + pattern[1:]
        flags = 0 if "[A-Z]" in pattern else re.IGNORECASE
        rules.append(Rule(re.compile(pattern, flags), news.split(" | "), literal))
    return tuple(rules)


def literal_of(pattern: str) -> str:
    """The longest run of letters that every match of `pattern` must hold: it saves most of the searches."""
    while (shorter := _GROUP.sub("\0", pattern)) != pattern:
        pattern = shorter
    pattern = _NOT_LITERAL.sub("\0", pattern)
    return max(re.split(r"[^a-z ]+", pattern), key=len)
