"""`paraphrase`: safe rewrites of the prose between the math."""

import random
import re

_REWRITES = (
    (re.compile(r"\bFind (?=the |all )"), "Determine "), (re.compile(r"\bCompute (?=the )"), "Calculate "),
    (re.compile(r"\bin total\b"), "altogether"), (re.compile(r"\bbuys\b"), "purchases"),
)


def paraphrase(problem: str, generator: random.Random) -> str | None:
    """Apply the rewrites that fit."""
    text = problem
    for pattern, new in _REWRITES:
        text = pattern.sub(new, text)
    return text if text != problem else None
