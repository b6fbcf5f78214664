"""The small pieces of English grammar that the paraphrase rules need."""

import re
from functools import cache

from scapo.perturb.lexicon import lines, word_list, words

PRONOUNS = words("he she they we you it i")
DETERMINERS = words("the a an his her their its my your our each every this these those both all")
_ANAPHORA = words("he she they it him her them his their its this that these those")
_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|one\b|eu)[aeiou]|hour|honest|honor|heir", re.IGNORECASE)


@cache
def verbs() -> dict[str, tuple[str, str]]:
    """base form -> (third person, past), for the verbs that questions are asked with."""
    return {base: (third, past) for base, third, past in (line.split() for line in lines("verbs"))}


def finite(verb: str, auxiliary: str, subject: str) -> str:
    """What is said without the question's auxiliary: ('sell', 'did', 'she') -> 'sold'."""
    third, past = verbs()[verb]
    if auxiliary == "did":
        return ("were" if subject in ("they", "we", "you") else past) if verb == "be" else past
    return third if auxiliary == "does" else verb


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def small(text: str) -> str | None:
    """The text with a small first letter; None when its first word may be a name."""
    first = re.match(r"[A-Za-z]+", text)
    if not first:
        return text
    if not text[0].isupper() or first[0] == "I":
        return text
    return text[0].lower() + text[1:] if first[0].lower() in word_list("starters") else None


def same_case(new: str, old: str) -> str:
    """`new` with a capital when `old` has one."""
    return capital(new) if old[:1].isupper() else new


def article_fits(before: str, new: str) -> bool:
    """False when an 'a' or 'an' at the end of `before` does not agree with `new`."""
    match = re.search(r"\b(an?)\s+$", before, re.IGNORECASE)
    return not match or (match[1].lower() == "an") == bool(_VOWEL_SOUND.match(new))


def anaphora(text: str) -> set[str]:
    """Words that point back at something said before."""
    return {word for word in re.findall(r"[a-z]+", text.lower()) if word in _ANAPHORA}


def has_name(text: str) -> bool:
    """True when a capitalised word stands inside the text (not at its start)."""
    return re.search(r"(?<=\s)(?!I\b)[A-Z][a-z]", text) is not None
