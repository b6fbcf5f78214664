"""`scenario_wrap`: the original text inside a light frame."""

from scapo.perturb.checks.refusal import Refusal
from scapo.perturb.lexicon import word_list
from scapo.perturb.spans import spans
from scapo.perturb.tokens import Tokens, tokens

MAX_FRAME_WORDS = 25


def check_wrap(original: str, text: str) -> Refusal | None:
    """Refuses a frame that is long, or brings a number, a formula, a hint, or changes the original words."""
    frame = _frame(tokens(original), tokens(text))
    if frame is None:
        return Refusal("original_changed", "The original text does not stand unchanged inside the frame.")
    return frame_refusal(frame)


def frame_refusal(frame: str) -> Refusal | None:
    """Refuses what no added phrase may hold."""
    found = spans(frame)
    if any(span.value is not None for span in found):
        return Refusal("new_number", f"The frame '{frame}' brings a number or a number word.")
    if any(span.kind == "math" for span in found):
        return Refusal("new_math", f"The frame '{frame}' brings math, a label or a formula.")
    words = [span.text.lower() for span in found]
    if not words:
        return Refusal("empty_frame", "The frame has no words.")
    if len(words) > MAX_FRAME_WORDS:
        return Refusal(
            "frame_too_long", f"The frame has {len(words)} words; at most {MAX_FRAME_WORDS} are allowed."
        )
    forbidden = sorted(set(words) & word_list("frame_forbidden"))
    if forbidden:
        return Refusal("forbidden_word", f"The frame may be a hint or a condition: it says '{forbidden[0]}'.")
    return None


def _frame(old: Tokens, new: Tokens) -> str | None:
    """What stands in `new` around the words of `old`, or else at one place inside; None when they changed."""
    extra = len(new.folded) - len(old.folded)
    if not old.folded or extra <= 0 or extra > 4 * MAX_FRAME_WORDS:
        return None
    leads = [lead for lead in range(extra, -1, -1) if new.folded[lead] == old.folded[0]]
    for lead in leads:
        if new.folded[lead : lead + len(old.folded)] == old.folded:
            return new.join(0, lead) + " " + new.join(lead + len(old.folded), len(new.folded))
    suffix = common_prefix(old.folded[::-1], new.folded[::-1])
    for lead in leads:
        prefix = common_prefix(old.folded, new.folded[lead:])
        if prefix + suffix >= len(old.folded):
            return new.join(0, lead) + " " + new.join(lead + prefix, prefix + extra)
    return None


def common_prefix(a: list[str], b: list[str]) -> int:
    """How many leading items two lists share."""
    for count, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return count
    return min(len(a), len(b))
