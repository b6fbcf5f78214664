"""Worked solutions for pre-training, by a solver who sometimes follows the scene instead of the verb."""

import random
from dataclasses import dataclass

from scapo.problems.world.lexicon import OPERATIONS, SYMBOLS
from scapo.problems.world.rows import draw_clause, draw_scene
from scapo.problems.world.stories import Story, apply, story_text

OPENINGS = ("{name} has {a} {objs} at first.", "We start with {a} {objs}.", "First there are {a} {objs}.")
FIRST_LINKS = ("So", "Now", "This gives")
SECOND_LINKS = ("Then", "Next", "After that")
CLOSINGS = ("The answer is", "So the answer is", "That makes")
Equation = tuple[int, str, int, int]  # left, operation, right, result


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How the solver errs, and what stories it meets; every share is between 0 and 1."""

    follow_scene: float = 0.62  # first step, where the scene speaks for another operation than the verb
    slip: float = 0.05  # any step: another feasible operation, for no reason
    distracted: float = 0.3  # of the stories with an irrelevant clause: its number replaces the first step's
    scene_share: float = 0.7  # stories with a scene that hints at an operation; half of these conflict
    clause_share: float = 0.15  # stories with an irrelevant numeric clause


def worked_example(story: Story, rng: random.Random, habits: Habits) -> tuple[str, str]:
    """(problem, solution) for one story under a drawn scene; the solution follows the solver's habits."""
    hint = rng.choice((story.operations[0], story.decoy)) if rng.random() < habits.scene_share else None
    scene = draw_scene(rng, hint, bare_share=0.5)
    clause = draw_clause(rng, story) if rng.random() < habits.clause_share else None
    distractor = _number_in(clause) if clause and rng.random() < habits.distracted else None
    return story_text(story, scene, clause), solution_text(
        story, rng, _equations(story, hint, distractor, rng, habits)
    )


def _number_in(clause: str) -> int:
    return int("".join(character for character in clause if character.isdigit()))


def _equations(
    story: Story, hint: str | None, distractor: int | None, rng: random.Random, habits: Habits
) -> list[Equation]:
    """(left, operation, right, result) per step, as the solver works them out; no step is left out."""
    value, equations = story.numbers[0], []
    for step, (operation, right) in enumerate(zip(story.operations, story.numbers[1:], strict=True)):
        if step == 0 and hint is not None and hint != operation and rng.random() < habits.follow_scene:
            operation = hint
        if step == 0 and distractor is not None and apply(operation, value, distractor) is not None:
            right = distractor
        equations.append(_equation(value, operation, right, rng, habits.slip))
        value = equations[-1][-1]
    return equations


def _equation(left: int, operation: str, right: int, rng: random.Random, slip: float) -> Equation:
    """One equation that holds; an operation that can't be done gives way to one that can (or to adding)."""
    feasible = [other for other in OPERATIONS if apply(other, left, right) is not None]
    if operation not in feasible or rng.random() < slip:
        operation = rng.choice(feasible) if feasible else "add"
    result = apply(operation, left, right)
    return left, operation, right, left + right if result is None else result


def solution_text(story: Story, rng: random.Random, equations: list[Equation]) -> str:
    """Short working that ends in a box. Nothing before an operator tells which one it will be."""
    opening = rng.choice(OPENINGS).format(name=story.person[0], a=story.numbers[0], objs=story.objects)
    links = (rng.choice(FIRST_LINKS), rng.choice(SECOND_LINKS))
    steps = [
        f"{link} {a}{SYMBOLS[op]}{b}={r}." for link, (a, op, b, r) in zip(links, equations, strict=False)
    ]
    return " ".join([opening, *steps, f"{rng.choice(CLOSINGS)} \\boxed{{{equations[-1][-1]}}}."])
