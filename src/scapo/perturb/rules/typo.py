"""`typo_noise`: one slip of the finger in one ordinary word."""

import random
import string

from scapo.perturb.lexicon import ORDINARY_ZIPF, is_delicate, zipf
from scapo.perturb.spans import word_spans
from scapo.perturb.typo_words import is_ordinary

TYPO_ZIPF = 1.5
_TRIES = 12


def typo_noise(problem: str, generator: random.Random) -> str | None:
    """Edit one inner letter of one ordinary word so that the result is no word."""
    words = [word for word in word_spans(problem) if is_ordinary(problem, word)
             and zipf(word.text) >= ORDINARY_ZIPF and not is_delicate(word.text)]
    generator.shuffle(words)
    for word in words:
        for _ in range(_TRIES):
            new = _edit(word.text, generator)
            if new != word.text and zipf(new) < TYPO_ZIPF:
                return problem[:word.start] + new + problem[word.end:]
    return None


def _edit(word: str, generator: random.Random) -> str:
    at = generator.randrange(1, len(word) - 1)
    kind = generator.choice(("delete", "swap", "double", "substitute"))
    if kind == "delete":
        return word[:at] + word[at + 1:]
    if kind == "swap":
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    if kind == "double":
        return word[:at] + word[at] + word[at:]
    return word[:at] + generator.choice(string.ascii_lowercase) + word[at + 1:]
