"""`irrelevant_context`: a meaningless tail."""

import random
import string

from scapo.perturb.lexicon import lines


def irrelevant_context(problem: str, generator: random.Random) -> str | None:
    """Append a tautology, a random string or a bracket tag."""
    if not problem.strip():
        return None
    make = generator.choice((_string, _tag, lambda g: g.choice(lines("tautologies"))))
    return f"{problem.rstrip()} {make(generator)}"


def _string(generator: random.Random) -> str:
    letters = "".join(generator.choice(string.ascii_letters) for _ in range(generator.randint(6, 12)))
    return letters


def _tag(generator: random.Random) -> str:
    code = "".join(generator.choice(string.ascii_lowercase) for _ in range(4))
    return f"[tag: {code}]"
