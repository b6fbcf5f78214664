"""Arithmetic drills: rows of bare equations, so that the base policy errs in choices and not in sums."""

import random

from scapo.problems.world.lexicon import OPERATIONS, SYMBOLS
from scapo.problems.world.stories import LARGEST, apply

EQUATIONS = tuple(
    (f"{a}{SYMBOLS[operation]}{b}=", f"{apply(operation, a, b)}.")
    for operation in OPERATIONS
    for a in range(2, LARGEST + 1)
    for b in range(2, LARGEST + 1)
    if apply(operation, a, b)
)
_BY_SIGN = {sign: [equation for equation in EQUATIONS if sign in equation[0]] for sign in SYMBOLS.values()}


def drill(rng: random.Random, length: int) -> list[tuple[str, str]]:
    """`length` equations that hold, each as (given, wanted); every operation is as likely as any other."""
    return [rng.choice(_BY_SIGN[rng.choice(tuple(_BY_SIGN))]) for _ in range(length)]
