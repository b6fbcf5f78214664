"""`irrelevant_context`: the original text unchanged, then one short meaningless distractor."""

import re

from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.lexicon import word_list, zipf
from scapo.perturb.spans import SpanKind, spans, word_spans

MAX_WORDS = 9
_TAG = re.compile(r"[\[({<]\s?[\w#:.\-/ ]{2,30}\s?[\])}>]")
_RANDOM = re.compile(r"[A-Za-z0-9]{6,12}")
_NUMBER_LIKE = re.compile(r"\d+(?:e\d+)?", re.IGNORECASE)


def check_irrelevant(original: str, text: str) -> Refusal | None:
    """Refuses a changed original, and a tail that is no tautology, random string or bracket tag."""
    kept = original.rstrip()
    if not text.startswith(kept):
        return Refusal("original_changed", "The rewrite does not begin with the unchanged original text.")
    rest = text[len(kept) :]
    added = rest.strip()
    if not added:
        return Refusal("unchanged", "Nothing stands after the original text.")
    if not rest[0].isspace() and kept[-1].isalnum():
        return Refusal("original_changed", "The distractor is glued to the last word of the original.")
    if _RANDOM.fullmatch(added):
        return _string_refusal(added)
    return _tag_refusal(added) if _TAG.fullmatch(added) else _sentence_refusal(original, added)


def _string_refusal(added: str) -> Refusal | None:
    if _NUMBER_LIKE.fullmatch(added):
        return Refusal("new_number", f"The distractor {added} is a number.")
    if zipf(added) > 2:
        return Refusal("not_a_distractor", f"The distractor '{added}' is a word, not a random string.")
    return None


def _tag_refusal(added: str) -> Refusal | None:
    parts = re.split(r"[^A-Za-z0-9]+", added)
    if any(_NUMBER_LIKE.fullmatch(part) for part in parts):
        return Refusal("new_number", f"The tag {added} holds a number.")
    return _forbidden(added)


def _sentence_refusal(original: str, added: str) -> Refusal | None:
    found = spans(added)
    if any(span.value is not None for span in found):
        return Refusal("new_number", f"The distractor '{added}' holds a number.")
    if any(span.kind is SpanKind.MATH for span in found):
        return Refusal("new_math", f"The distractor '{added}' holds math.")
    if len(found) > MAX_WORDS or re.search(r"[.!?]\s+\S", added):
        return Refusal("too_long", f"The distractor '{added}' is longer than one short phrase.")
    if not _is_tautology([span.text.lower() for span in found]):
        return Refusal("not_a_distractor", f"'{added}' is no tautology, random string or bracket tag.")
    shared = _content(added) & _content(original)
    if shared:
        return Refusal(
            "about_the_problem", f"The distractor speaks of '{sorted(shared)[0]}', which the text also does."
        )
    return _forbidden(added)


def _is_tautology(words: list[str]) -> bool:
    """Some word with a meaning is said twice: 'true is true', 'a cloud is a cloud', 'what is, is'."""
    return len(words) >= 3 and len(set(words)) < len(words)


def _content(text: str) -> set[str]:
    return {span.text.lower() for span in word_spans(text)} - word_list("function_words")


def _forbidden(added: str) -> Refusal | None:
    found = {span.text.lower() for span in word_spans(added)} & word_list("distractor_forbidden")
    return Refusal("forbidden_word", f"The distractor says '{sorted(found)[0]}'.") if found else None
