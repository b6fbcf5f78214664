"""The embedded world's problem rows, split by split: a pure function of split, size and seed."""

import random
from typing import Any

from scapo.problems.world import lexicon
from scapo.problems.world.stories import TEST_SPLITS, TRAIN_AGREE_SHARE, Story, apply, stories, story_text

SPLITS = ("train", *TEST_SPLITS)


def world_rows(
    split: str, size: int, seed: int = 0, agree_share: float = TRAIN_AGREE_SHARE
) -> list[dict[str, Any]]:
    """`size` rows of one split; a smaller size gives a prefix of a larger one.

    agree_share: chance that the scene of a `train` story agrees with its verb; other splits don't use it.
    """
    if split not in SPLITS:
        raise ValueError(f"{split!r} is no split of the embedded world. Choose one of {', '.join(SPLITS)}.")
    source = stories(split, seed)
    return [_row(split, index, *next(source), agree_share) for index in range(size)]


def _row(split: str, index: int, story: Story, rng: random.Random, agree_share: float) -> dict[str, Any]:
    scene_operation = _scene_operation(split, story, rng, agree_share)
    scene = draw_scene(rng, scene_operation, bare_share=0.5)
    clause = draw_clause(rng, story) if split == "noop" else None
    return {
        "id": f"world-{split}-{index:05d}",
        "problem": story_text(story, scene, clause),
        "answer": str(story.answer),
        "split": split,
        "world": {
            "operations": list(story.operations),
            "numbers": list(story.numbers),
            "results": _results(story),
            "scene": scene,
            "scene_operation": scene_operation,
            "agree": None if scene_operation is None else scene_operation == story.operations[0],
            "noop": clause,
        },
    }


def _scene_operation(split: str, story: Story, rng: random.Random, agree_share: float) -> str | None:
    if split == "neutral":
        return None
    agree = rng.random() < agree_share if split == "train" else split != "conflict"
    return story.operations[0] if agree else story.decoy


def draw_scene(rng: random.Random, operation: str | None, bare_share: float) -> str | None:
    """A phrase that hints at the operation; without one, an uninformative phrase or (`bare_share`) none."""
    if operation is not None:
        return rng.choice(lexicon.SCENES[operation])
    return None if rng.random() < bare_share else rng.choice(lexicon.NEUTRAL_SCENES)


def draw_clause(rng: random.Random, story: Story) -> str:
    """A true sentence with a number that has nothing to do with the answer."""
    return rng.choice(lexicon.NOOP_CLAUSES).format(n=rng.randint(2, 60), objs=story.objects)


def _results(story: Story) -> list[int]:
    results = [story.numbers[0]]
    for operation, right in zip(story.operations, story.numbers[1:], strict=True):
        result = apply(operation, results[-1], right)
        assert result is not None, "stories are drawn with whole results"
        results.append(result)
    return results[1:]
