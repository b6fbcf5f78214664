"""What a word of a problem is: ordinary prose, a name, a label; and whether the text is English at all."""

import re
from functools import lru_cache

from scapo.perturb.lexicon import ALLOWED_ZIPF, is_protected, word_list, zipf
from scapo.perturb.spans import Span, word_spans

_SENTENCE_START = re.compile(r"(?:[.!?:]['\"”’)$\]]{0,2}\s+|\n\s*|^\s*|\\\]\s*)[\"“‘'(]?$")
_INNER_CAPITAL = re.compile(r"(?<=[a-z,;] )[A-Z][a-z’']+")
_MENTION = re.compile(r"\b(?:words?|letters?|strings?|phrase|called|named)\s+(?:of\s+)?$")
ENGLISH_SHARE = 0.18


@lru_cache(maxsize=64)
def is_english(text: str) -> bool:
    """True when enough of the words are English function, question or instruction words."""
    words = [span.text.lower().partition("'")[0] for span in word_spans(text)]
    if any(word > "\u2fff" for word in words):
        return False
    known = word_list("function_words") | word_list("last_resort")
    return bool(words) and sum(word in known for word in words) >= ENGLISH_SHARE * len(words)


def is_ordinary(text: str, word: Span) -> bool:
    """True for an English word that a typo may touch: no keyword, unit, name, label, rare or short word."""
    token = word.text
    if not token.isascii() or not token.isalpha() or len(token) < 4:
        return False
    if is_protected(token) or zipf(token) < ALLOWED_ZIPF:
        return False
    return not is_label(text, word) and not _is_capitalised_name(text, word)


def is_label(text: str, word: Span) -> bool:
    """Quoted, hyphenated, glued to a symbol or mentioned as a word: more likely a name than prose."""
    before, after = text[max(0, word.start - 1) : word.start], text[word.end : word.end + 1]
    if (before and before in "-\"'“‘’_/#@&\\{<[=|") or (after and after in "-\"'”’_/#@&{}>]=|\\"):
        return True
    return bool(_MENTION.search(text[max(0, word.start - 20) : word.start]))


def is_proper_name(text: str, word: Span) -> bool:
    """True when the same capitalised word also stands inside a sentence of the text."""
    return word.text in inner_capitals(text)


@lru_cache(maxsize=64)
def inner_capitals(text: str) -> frozenset[str]:
    """Capitalised words that stand inside a sentence, where only names are capitalised."""
    return frozenset(re.sub(r"['’]s?$", "", name) for name in _INNER_CAPITAL.findall(text))


def _is_capitalised_name(text: str, word: Span) -> bool:
    """Any capital but that of a sentence's known first word; also a first word that is a name elsewhere."""
    if word.text.islower():
        return False
    known = (
        word.text.lower() in word_list("starters") or re.search(rf"\b{word.text.lower()}\b", text) is not None
    )
    return not (word.text.istitle() and known and starts_sentence(text, word.start)) or is_proper_name(
        text, word
    )


def starts_sentence(text: str, start: int) -> bool:
    """True when only an opening quote or bracket stands between the end of a sentence and `start`."""
    return bool(_SENTENCE_START.search(text[max(0, start - 8) : start])) or not text[:start].strip()
