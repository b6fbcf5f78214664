"""`scenario_wrap`: a light frame around the unchanged text."""

import random

from scapo.perturb.lexicon import lines
from scapo.perturb.spans import spans
from scapo.perturb.typo_words import is_name_word


def scenario_wrap(problem: str, generator: random.Random) -> str | None:
    """Put one short phrase in front of the text."""
    if not problem.strip() or not any(span.kind == "word" for span in spans(problem)):
        return None
    frame = generator.choice(lines("frames"))
    return f"{frame}, {_lower_first(problem)}"


def _lower_first(problem: str) -> str:
    first = spans(problem)[0]
    if first.start or first.kind not in ("word", "number_word") or first.text[:2] in ("I", "I'") or not first.text.istitle():
        return problem
    return problem if is_name_word(first.text) else problem[0].lower() + problem[1:]
