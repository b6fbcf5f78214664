"""`typo_noise`: one slip of the finger in one ordinary word."""

import random
import string
from collections.abc import Iterator

from scapo.perturb.lexicon import ORDINARY_ZIPF, common_words, is_delicate, word_list, zipf
from scapo.perturb.spans import Span, word_spans
from scapo.perturb.words import is_english, is_ordinary

NO_WORD_ZIPF = 1.5
"""The result must be rarer than this: below it are misspellings and oddities."""
RIVAL_ZIPF = 4.0
"""A word this common that is also one slip away from the result would make it ambiguous."""
_TRIES = 24
_NEIGHBOURS = dict(
    zip(
        "qwertyuiopasdfghjklzxcvbnm",
        [
            "wa",
            "qeas",
            "wrsd",
            "etdf",
            "ryfg",
            "tugh",
            "yihj",
            "uojk",
            "ipkl",
            "ol",
            "qwsz",
            "weadzx",
            "ersfxc",
            "rtdgcv",
            "tyfhvb",
            "yugjbn",
            "uihknm",
            "iojlm",
            "opk",
            "asx",
            "sdzc",
            "dfxv",
            "fgcb",
            "ghvn",
            "hjbm",
            "jkn",
        ],
        strict=True,
    )
)


def typo_noise(problem: str, generator: random.Random) -> str | None:
    """Edit one inner letter of one ordinary word so that no word results; None when no word allows it."""
    if not is_english(problem):
        return None
    for word in _candidates(problem, generator):
        for _ in range(_TRIES):
            new = _edit(word.text, generator)
            if _is_safe(word.text, new):
                return problem[: word.start] + new + problem[word.end :]
    return None


def _candidates(problem: str, generator: random.Random) -> Iterator[Span]:
    """Ordinary words first; instruction and question words only when there is nothing else."""
    places: dict[str, list[Span]] = {}
    for word in word_spans(problem):
        if len(word.text) >= 4:
            places.setdefault(word.text, []).append(word)
    words = [generator.choice(places[text]) for text in generator.sample(list(places), len(places))]
    later = []
    for word in words:
        if word.text.lower() in word_list("last_resort"):
            later.append(word)
        elif is_ordinary(problem, word) and zipf(word.text) >= ORDINARY_ZIPF and not is_delicate(word.text):
            yield word
    yield from (word for word in later if is_ordinary(problem, word))


def _edit(word: str, generator: random.Random) -> str:
    """One slip inside; short words are only swapped or doubled, so that they stay easy to recognise."""
    at = generator.randrange(1, len(word) - 1)
    kinds = ("swap", "double", "delete", "substitute", "insert") if len(word) > 5 else ("swap", "double")
    kind = generator.choice(kinds)
    if kind == "delete":
        return word[:at] + word[at + 1 :]
    if kind == "swap":
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == "double":
        return word[:at] + word[at] + word[at:]
    key = generator.choice(_NEIGHBOURS[word[at]]) if word[at] in _NEIGHBOURS else word[at]
    return word[:at] + key + word[at + (kind == "substitute") :]


def _is_safe(old: str, new: str) -> bool:
    return new != old and zipf(new) < NO_WORD_ZIPF and not _has_rival(old.lower(), new.lower())


def _has_rival(old: str, new: str) -> bool:
    """True when a common word other than `old` and its own forms is one slip away from `new`."""
    rivals = common_words(RIVAL_ZIPF) & _one_edit(new)
    return any(not word.startswith(old) and not old.startswith(word) for word in rivals)


def _one_edit(word: str) -> set[str]:
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    letters = string.ascii_lowercase
    found = {a + b[1:] for a, b in cuts if b} | {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    found |= {a + c + b[1:] for a, b in cuts if b for c in letters}
    return found | {a + c + b for a, b in cuts for c in letters}
