"""The embedded world's problems: deterministic, disjoint, rightly answered, the shortcut in its place."""

import re

import pytest

from scapo.problems.world import lexicon
from scapo.problems.world.rows import SPLITS, world_rows
from scapo.problems.world.stories import TEST_SPLITS, stories, story_text

SIZE = 300


@pytest.fixture(scope="module")
def world():
    return {split: world_rows(split, SIZE, seed=3) for split in SPLITS}


def all_rows(world):
    return [row for rows in world.values() for row in rows]


# An interpreter that shares nothing with the generator: it reads the English.
VERBS = {
    "+": r"\b(buys|finds|collects|receives|picks up|gives her|gives him|brings)\b",
    "-": r"\b(sells|loses|gives away|throws out|uses up|borrows|ruins)\b",
    "*": r"\b(swaps|trades|replaces|times|turns)\b",
    "/": r"\b(splits|packs|sorts|arranges|spreads|shares|deals)\b",
}


def interpret(problem):
    """Read sentence by sentence; after the first, only those that start with Then or After that count."""
    opening, *sentences = problem.split(". ")
    value = int(re.search(r"\d+", opening)[0])
    for sentence in sentences:
        if sentence.startswith(("Then", "After that")):
            (number,) = map(int, re.findall(r"\d+", sentence))
            (sign,) = [sign for sign, verbs in VERBS.items() if re.search(verbs, sentence)]
            value = {"+": value + number, "-": value - number, "*": value * number, "/": value / number}[sign]
    return value


def test_answers_are_what_an_independent_reader_computes(world):
    for row in all_rows(world):
        assert interpret(row["problem"]) == int(row["answer"]), row["problem"]


def test_every_event_phrase_is_read_by_the_interpreter_as_exactly_one_operation():
    for operation, phrases in lexicon.EVENTS.items():
        for phrase in phrases:
            text = phrase.format(who="she", whom="her", b=2, objs="coins")
            assert [s for s, v in VERBS.items() if re.search(v, text)] == [lexicon.SYMBOLS[operation]], text


def test_the_same_seed_gives_the_same_rows_and_a_shorter_list_is_a_prefix():
    for split in SPLITS:
        assert world_rows(split, 40, seed=5) == world_rows(split, 60, seed=5)[:40]
        assert world_rows(split, 40, seed=5) != world_rows(split, 40, seed=6)


def test_no_story_is_in_two_splits_even_under_different_seeds():
    """Compared without scene and clause: a problem that differs in these only would be an overlap."""
    seen = {}
    for split in ("pretrain", *SPLITS):
        for seed in (0, 1):
            source = stories(split, seed)
            texts = {story_text(next(source)[0]) for _ in range(SIZE)}
            assert all(seen.setdefault(text, split) == split for text in texts)


def test_rows_are_distinct_within_a_split(world):
    for rows in world.values():
        assert len({row["problem"] for row in rows}) == len({row["id"] for row in rows}) == SIZE


def test_the_scene_agrees_in_nine_of_ten_training_problems():
    rows = world_rows("train", 2000, seed=0)
    share = sum(row["world"]["agree"] for row in rows) / len(rows)
    assert abs(share - 0.9) < 0.02  # three standard errors


@pytest.mark.parametrize(
    ("split", "agree"), [("agree", True), ("noop", True), ("conflict", False), ("neutral", None)]
)
def test_test_sets_keep_their_promise(world, split, agree):
    for row in world[split]:
        info = row["world"]
        assert row["split"] == split
        assert info["agree"] is agree
        if agree is not None:
            assert (info["scene_operation"] == info["operations"][0]) is agree
            assert info["scene"] in lexicon.SCENES[info["scene_operation"]]
            assert row["problem"].startswith(info["scene"] + ", ")
        assert (info["noop"] is not None) is (split == "noop")
        assert info["noop"] is None or info["noop"] in row["problem"]


def test_a_conflicting_scene_leads_to_another_number(world):
    for row in world["conflict"]:
        info = row["world"]
        a, b, sign = *info["numbers"][:2], lexicon.SYMBOLS[info["scene_operation"]]
        misled = {"+": a + b, "-": a - b, "*": a * b, "/": a / b}[sign]
        assert misled == int(misled)
        assert 1 <= misled <= 99
        assert misled != info["results"][0]


def test_numbers_stay_small_and_answers_are_non_negative_integers(world):
    for row in all_rows(world):
        info = row["world"]
        assert str(info["results"][-1]) == row["answer"]
        assert all(1 <= number <= 99 for number in [*info["numbers"], *info["results"]])
        assert len(info["results"]) == len(info["operations"]) == len(info["numbers"]) - 1


def test_problems_are_plain_sentences(world):
    for row in all_rows(world):
        text = row["problem"]
        assert text.isascii()
        assert text[0].isupper()
        assert text.endswith("?")
        assert "  " not in text
        assert "{" not in text


def test_an_unknown_split_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="train, agree, conflict, neutral, noop"):
        world_rows("dev", 1)


def test_scenes_are_not_shared_between_operations():
    phrases = [scene for scenes in lexicon.SCENES.values() for scene in scenes] + list(lexicon.NEUTRAL_SCENES)
    assert len(set(phrases)) == len(phrases)
    assert set(TEST_SPLITS) < set(SPLITS)
