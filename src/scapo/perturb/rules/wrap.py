"""`scenario_wrap`: a light frame around the unchanged text."""

import random

from scapo.perturb.lexicon import lines, word_list
from scapo.perturb.spans import SpanKind, spans
from scapo.perturb.words import is_english, is_proper_name

_ENDS = (".", "?", "!", ")", '"', "”", "$", "\\]")


def scenario_wrap(problem: str, generator: random.Random) -> str | None:
    """Put one short phrase before or after the text; None when the text is not English."""
    if not is_english(problem):
        return None
    text = problem.strip()
    lowered = _lower_first(text)
    frames = [frame for frame in lines("frames") if _fits(frame, text, lowered)]
    frame = generator.choice(frames)
    lesson, occasion = (
        generator.choice(lines("lessons")),
        generator.choice(lines("lessons") + lines("occasions")),
    )
    frame = frame.replace("{lesson}", lesson).replace("{occasion}", occasion)
    return frame.replace("{l}", lowered) if lowered and "{l}" in frame else frame.replace("{p}", text)


def _fits(frame: str, text: str, lowered: str | None) -> bool:
    """A clause frame needs a first letter that may be small, a closing frame a finished sentence."""
    if "{l}" in frame:
        return lowered is not None
    return text.endswith(_ENDS) or not frame.startswith("{p}")


def _lower_first(text: str) -> str | None:
    """The text as it reads after a comma; None when it is not clear whether the first word is a name."""
    first = next(iter(spans(text)), None)
    if first is None or first.start:
        return None
    if first.kind in (SpanKind.MATH, SpanKind.NUMBER) or not first.text[0].isupper():
        return text if text[0].isalnum() or text[0] in "$\\" else None
    if first.text.split("'")[0].split("’")[0] == "I" or is_proper_name(text, first):
        return text
    if first.text.split("-")[0].lower() in word_list("starters"):
        return text[0].lower() + text[1:]
    return None
