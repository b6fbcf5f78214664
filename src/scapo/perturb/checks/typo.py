"""`typo_noise`: exactly one character edit in one ordinary English word."""

from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.lexicon import REAL_WORD_ZIPF, zipf
from scapo.perturb.spans import Span, word_spans
from scapo.perturb.words import is_ordinary


def check_typo(original: str, text: str) -> Refusal | None:
    """Refuses anything but one insert, delete, substitution or swap of neighbours inside one allowed word."""
    edit = _single_edit(original, text)
    if edit is None:
        return Refusal("not_one_edit", "The rewrite is not the original with exactly one character edited.")
    start, end = edit
    word = next((span for span in word_spans(original) if span.start <= start and end <= span.end), None)
    if word is None:
        return Refusal("edit_outside_word", "The edited character is not inside an English word.")
    new = text[word.start : word.end + len(text) - len(original)]
    return _word_refusal(original, word, new)


def _word_refusal(original: str, word: Span, new: str) -> Refusal | None:
    if not new.isalpha() and not set(new) - set(word.text) <= set():
        return Refusal("edit_outside_word", f"'{word.text}' became '{new}', which is no longer one word.")
    if not is_ordinary(original, word):
        return Refusal(
            "protected_word", f"'{word.text}' is a keyword, unit, quantity, name, label or rare word."
        )
    if zipf(new) >= REAL_WORD_ZIPF:
        return Refusal("real_word", f"'{word.text}' became '{new}', which is another real word.")
    return None


def _single_edit(old: str, new: str) -> tuple[int, int] | None:
    """The slice of `old` that one edit touches, or None when the texts are not one edit apart."""
    size = len(new) - len(old)
    if abs(size) > 1:
        return None
    start = _common_prefix(old, new)
    if size == 1:
        return (start, start) if old[start:] == new[start + 1 :] else None
    if size == -1:
        return (start, start + 1) if old[start + 1 :] == new[start:] else None
    if old[start + 1 :] == new[start + 1 :]:
        return (start, start + 1) if start < len(old) else None
    swapped = old[start + 1 : start + 2] + old[start : start + 1]
    if swapped == new[start : start + 2] and old[start + 2 :] == new[start + 2 :]:
        return start, start + 2
    return None


def _common_prefix(a: str, b: str) -> int:
    """Length of the common prefix, by halving (string comparison is much faster than a Python loop)."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
