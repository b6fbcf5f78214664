"""Checks that hold for every kind."""

import re
import unicodedata

from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.spans import number_spans
from scapo.perturb.values import number_value

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ue000-\uf8ff]"
)


def bad_text(original: str, text: str) -> Refusal | None:
    """Empty, unchanged, or with characters that the original does not have and no text should."""
    if not text.strip():
        return Refusal("empty", "The rewrite is empty.")
    if " ".join(text.split()) == " ".join(original.split()):
        return Refusal("unchanged", "The rewrite is the original text (white space aside).")
    new = set(_CONTROL.findall(text)) - set(original)
    if new:
        names = ", ".join(sorted(f"U+{ord(char):04X}" for char in new))
        return Refusal(
            "control_character", f"The rewrite holds characters that no text should hold: {names}."
        )
    return None


def answer_leak(original: str, text: str, answer: str) -> Refusal | None:
    """The answer stands in the rewrite and not in the original."""
    plain = unicodedata.normalize("NFKC", answer).strip()
    if re.fullmatch(r"-?[\d,]*\.?\d+", plain) and len(plain) < 40:
        value = number_value(plain)
        leaked = value in {span.value for span in number_spans(text)} - {
            span.value for span in number_spans(original)
        }
    else:
        leaked = (
            len(plain) > 2
            and plain.casefold() in text.casefold()
            and plain.casefold() not in original.casefold()
        )
    return (
        Refusal("answer_leaked", f"The answer {answer} stands in the rewrite but not in the original.")
        if leaked
        else None
    )
