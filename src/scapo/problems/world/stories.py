"""Arithmetic word problems with a planted shortcut: the scene usually tells which operation comes first.

A story is an opening, one or two events and a question; a scene phrase may stand in front. The scene hints at
the operation of the FIRST step (right or wrong); the verb always tells the truth. For every story a decoy
operation is drawn as well and the numbers fit both, so the numbers don't tell whether a scene agrees: an
agreeing scene belongs to the right operation, a conflicting one to the decoy.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from scapo.problems.world import lexicon
from scapo.problems.world.lexicon import OPERATIONS

LARGEST = 99  # of any number in a story, a right solution, or a solution that follows a conflicting scene
TRAIN_AGREE_SHARE = 0.9
TEST_SPLITS = ("agree", "conflict", "neutral", "noop")

# A story's text without scene and clause decides by its hash which split may use it: splits can't overlap,
# whatever their seeds and sizes.
_BUCKETS = ("pretrain",) * 10 + ("train",) * 6 + TEST_SPLITS


@dataclass(frozen=True, kw_only=True)
class Story:
    """One story without its scene: numbers[0] is the start, numbers[i] belongs to operations[i - 1]."""

    operations: tuple[str, ...]
    decoy: str
    numbers: tuple[int, ...]
    person: tuple[str, str, str]
    objects: str
    opening: str
    events: tuple[str, ...]
    question: str

    @property
    def answer(self) -> int:
        return final_result(self.numbers, self.operations)


def apply(operation: str, left: int, right: int) -> int | None:
    """The result, or None where it is no whole number from 1 to LARGEST."""
    if operation == "divide" and left % right:
        return None
    results = {
        "add": left + right,
        "subtract": left - right,
        "multiply": left * right,
        "divide": left // right,
    }
    return results[operation] if 1 <= results[operation] <= LARGEST else None


def final_result(numbers: tuple[int, ...], operations: tuple[str, ...]) -> int:
    """Apply the operations from left to right; ValueError where a step isn't feasible."""
    value = numbers[0]
    for operation, right in zip(operations, numbers[1:], strict=True):
        result = apply(operation, value, right)
        if result is None:
            raise ValueError(f"{value} {operation} {right} is no whole number from 1 to {LARGEST}")
        value = result
    return value


@cache
def _pairs(first: str, second: str) -> tuple[tuple[int, int], ...]:
    """All (left, right) from 2 to LARGEST that suit both operations and tell them apart by the result."""
    numbers = range(2, LARGEST + 1)
    return tuple((a, b) for a in numbers for b in numbers if _differ(apply(first, a, b), apply(second, a, b)))


def _differ(first: int | None, second: int | None) -> bool:
    return first is not None and second is not None and first != second


def draw_story(rng: random.Random) -> Story:
    """One story, every choice uniform; redrawn until the numbers suit the right and the decoy path."""
    operations = tuple(rng.choices(OPERATIONS, k=rng.choice((1, 2))))
    decoy = rng.choice([operation for operation in OPERATIONS if operation != operations[0]])
    return Story(
        operations=operations,
        decoy=decoy,
        numbers=_draw_numbers(rng, operations, decoy),
        person=rng.choice(lexicon.PEOPLE),
        objects=rng.choice(lexicon.OBJECTS),
        opening=rng.choice(lexicon.OPENINGS),
        events=tuple(rng.choice(lexicon.EVENTS[operation]) for operation in operations),
        question=rng.choice(lexicon.QUESTIONS),
    )


def _draw_numbers(rng: random.Random, operations: tuple[str, ...], decoy: str) -> tuple[int, ...]:
    while True:
        a, b = rng.choice(_pairs(operations[0], decoy))
        if len(operations) == 1:
            return a, b
        right, wrong = apply(operations[0], a, b), apply(decoy, a, b)
        third = _suitable(operations[1], right, wrong)
        if third:
            return a, b, rng.choice(third)


def _suitable(operation: str, *left: int | None) -> list[int]:
    """All numbers from 2 that suit the operation on every one of the left numbers."""
    known = [number for number in left if number is not None]
    return [c for c in range(2, LARGEST + 1) if all(apply(operation, number, c) for number in known)]


def story_text(story: Story, scene: str | None = None, clause: str | None = None) -> str:
    """The problem as a reader sees it; `clause` stands right before the question."""
    name, subject, pronoun = story.person
    opening = story.opening.format(name=name, a=story.numbers[0], objs=story.objects)
    sentences = [f"{scene}, {opening}" if scene else opening]
    for linking, event, number in zip(("Then", "After that"), story.events, story.numbers[1:], strict=False):
        clause_text = event.format(who=subject, whom=pronoun, b=number, objs=story.objects)
        sentences.append(f"{linking} {clause_text}.")
    question = story.question.format(name=name, objs=story.objects)
    return " ".join([*sentences, *([clause] if clause else []), question])


def split_of(story: Story) -> str:
    """The only split that may use this story."""
    digest = hashlib.sha256(story_text(story).encode()).digest()
    return _BUCKETS[int.from_bytes(digest[:4], "big") % len(_BUCKETS)]


def stories(split: str, seed: int) -> Iterator[tuple[Story, random.Random]]:
    """Endless distinct stories of one split, each with the random source for its scene."""
    rng, seen = random.Random(f"{split} {seed}"), set()
    while True:
        story = draw_story(rng)
        text = story_text(story)
        if split_of(story) == split and text not in seen:
            seen.add(text)
            yield story, rng
