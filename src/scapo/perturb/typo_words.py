"""Which words of a problem a typo may touch (paper, appendix B.1: the exclusions)."""

import re

from scapo.perturb.lexicon import ALLOWED_ZIPF, is_protected, zipf
from scapo.perturb.spans import Span

_SENTENCE_START = re.compile(r"(?:^|[.!?:]['\"”’)]?\s+|\n\s*|^[\"“(])$")


def is_ordinary(text: str, word: Span) -> bool:
    """True for a common English word that is no keyword, unit, quantity, proper name, label or part of math."""
    token = word.text
    if not token.isascii() or not token.isalpha() or len(token) < 4:
        return False
    if is_protected(token) or zipf(token) < ALLOWED_ZIPF:
        return False
    return not _is_label(text, word) and not _is_name(text, word)


def _is_label(text: str, word: Span) -> bool:
    """Quoted, hyphenated, or glued to a symbol: more likely a name for something than prose."""
    before, after = text[word.start - 1:word.start], text[word.end:word.end + 1]
    return before in tuple("-\"'“‘_/#@&\\{<[") + ("’",) or after in tuple("-\"'”_/#@&{}>]=:(") + ("’",)


def _is_name(text: str, word: Span) -> bool:
    """Capitalised inside a sentence, or written with a capital elsewhere in the text inside a sentence."""
    token = word.text
    if token.islower():
        return False
    if not token.istitle():
        return True
    return not starts_sentence(text, word.start) or is_name_word(token)


def starts_sentence(text: str, start: int) -> bool:
    """True when nothing but an opening quote or bracket stands between a sentence end and `start`."""
    return bool(_SENTENCE_START.search(text[max(0, start - 6):start])) if start else True


def is_name_word(token: str) -> bool:
    """True for a capitalised word that is more likely a name than an ordinary word."""
    return zipf(token) < 5.0
