"""A question in the word order of a statement: 'How much did she earn?' -> 'how much she earned'."""

import re

from scapo.perturb.lexicon import words as words_of
from scapo.perturb.rules.english import DETERMINERS, PRONOUNS, finite, verbs
from scapo.perturb.values import word_value

_WH_PHRASE = re.compile(
    r"how (?:many|much|old|long|far|tall|fast)\b|what (?:fraction|percentage|percent|portion)\b",
    re.IGNORECASE,
)
BREAKS = words_of(
    "that who which where if when because since before after until and or but not so while than"
)
MODALS = words_of("will would can could should must might shall")
BE_HAVE = words_of("is are was were has have had")
_NO_SUBJECT = words_of(
    "in on at to for with from per by into onto over each every a an the his her their its my your"
)
_NOUN_PART = re.compile(r"[A-Za-z'’-]+")


def statement_order(question: str) -> str | None:
    """The question in the word order of a statement: 'how many clips she sold in May'."""
    if not _WH_PHRASE.match(question):
        return None
    words = question.split(" ")
    words[0] = words[0].lower()
    for at in range(2, len(words)):
        word = words[at]
        if word in BREAKS:
            return None
        if word in ("do", "does", "did"):
            return _without_do(words, at)
        if word in MODALS:
            return _swapped(words, at)
        if word in BE_HAVE:
            return _be_or_have(words, at)
    return None


def _without_do(words: list[str], at: int) -> str | None:
    verb = _verb_position(words, at + 1)
    if verb is None:
        return None
    subject = words[at + 1 : verb]
    form = finite(words[verb], words[at], subject[-1].lower())
    return " ".join(words[:at] + subject + [form] + words[verb + 1 :])


def _swapped(words: list[str], at: int) -> str | None:
    verb = _verb_position(words, at + 1)
    return None if verb is None else " ".join(words[:at] + words[at + 1 : verb] + [words[at]] + words[verb:])


def _be_or_have(words: list[str], at: int) -> str | None:
    """Inverted ('has she read', 'are there') or with the question word as subject ('are in the jar')."""
    following = words[at + 1] if at + 1 < len(words) else ""
    perfect = words[at] in ("has", "have", "had") and following.istitle() and _is_participle(words[at + 2 :])
    if following.lower() in PRONOUNS or following == "there" or perfect:
        return " ".join([*words[:at], following, words[at], *words[at + 2 :]])
    singular = words[1] == "many" and words[at] in (
        "is",
        "was",
        "has",
    )  # 'how many dollars was lunch' is inverted
    doubtful = following.lower() in DETERMINERS or following[:1].isupper() or not following.isalpha()
    if (
        singular
        or doubtful
        or word_value(following) is not None
        or words[1] in ("old", "long", "far", "tall")
    ):
        return None
    return " ".join(words)


def _is_participle(words: list[str]) -> bool:
    """True when the first word can follow 'has': 'read', 'collected', 'been'."""
    return bool(words) and (
        words[0].endswith(("ed", "en")) or words[0] in {past for _, past in verbs().values()}
    )


def _verb_position(words: list[str], start: int) -> int | None:
    """Where the main verb stands after a subject at `start`; None when subject or verb are not sure."""
    subject = _subject_length(words, start)
    for at in range(start + subject, min(len(words), start + subject + 6)) if subject else ():
        word = words[at]
        if word in verbs():
            doubtful = at + 1 < len(words) and words[at + 1] in verbs() and word not in ("have", "need")
            return None if doubtful else at
        if not _continues_subject(words[start:at], word):
            return None
    return None


def _continues_subject(subject: list[str], word: str) -> bool:
    """True when a subject that begins so may go on with `word`: 'the two' + 'boys', 'Ann' + 'and'."""
    if subject[0].lower() in PRONOUNS or word in BREAKS - {"and"} or not _NOUN_PART.fullmatch(word):
        return False
    if subject[-1] in ("of", "and"):
        return True
    if word in _NO_SUBJECT:
        return False
    name = subject[0][:1].isupper() and not any(
        part.endswith(("'s", "’s")) or part == "and" for part in subject
    )
    return not name or word[:1].isupper() or word in ("of", "and")


def _subject_length(words: list[str], start: int) -> int:
    """At least how many words the subject has: 1 for a pronoun or a name, 2 after an article or "Ann's"."""
    if start >= len(words):
        return 0
    word = words[start]
    if word.lower() in DETERMINERS or word.endswith(("'s", "’s")):
        return 2
    plural = word.isalpha() and word.endswith("s")
    return 1 if word.lower() in PRONOUNS or word[:1].isupper() or plural else 0
