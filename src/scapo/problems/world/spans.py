"""Which characters of a completion chose the operation, and did they follow the scene against the verb?"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from scapo.problems.world.lexicon import SYMBOLS

_OPERATIONS = {symbol: operation for operation, symbol in SYMBOLS.items()}
_OPERATIONS |= {"×": "multiply", "÷": "divide", "−": "subtract"}
_EQUATION = re.compile(r"\d{1,9} ?([-+*/×÷−]) ?\d{1,9} ?=")  # bounded: no completion can make it slow


class OperatorSpan(NamedTuple):
    """Characters start to stop of the completion hold one operator; `step` counts from 0."""

    start: int
    stop: int
    followed_scene: bool
    step: int
    operation: str


def shortcut_spans(row: Mapping[str, Any], completion: str) -> list[OperatorSpan]:
    """The operator of each equation in the completion, in order, for a row with a `world` column.

    The i-th equation stands for the i-th step; equations beyond the story's steps are left out. A choice
    followed the scene when it is the scene's operation, the verb asks for another one, and it is made in the
    first step (the only one that the scene speaks about).
    """
    world = row["world"]
    matches = list(_EQUATION.finditer(completion))[: len(world["operations"])]
    return [_span(world, step, match) for step, match in enumerate(matches)]


def _span(world: Mapping[str, Any], step: int, match: re.Match[str]) -> OperatorSpan:
    operation = _OPERATIONS[match[1]]
    wrong = operation != world["operations"][step]
    followed = step == 0 and wrong and operation == world["scene_operation"]
    return OperatorSpan(match.start(1), match.end(1), followed, step, operation)
