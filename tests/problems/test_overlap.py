"""Planted copies are found: as they are, re-wrapped, paraphrased, among the rewrites; strangers aren't."""

import random

from scapo.problems import Problem
from scapo.problems.overlap import COMMON, find_overlaps

WORDS = [
    "apple",
    "river",
    "stone",
    "cloud",
    "tiger",
    "lamp",
    "forest",
    "violin",
    "market",
    "engine",
    "pillow",
    "garden",
    "rocket",
    "mirror",
    "anchor",
]
STOCK = "where m and n are relatively prime positive integers find the value of m plus n."


def story(seed: int, length: int = 30) -> str:
    rng = random.Random(seed)
    return " ".join(f"{rng.choice(WORDS)} {rng.randint(2, 99)}" for _ in range(length))


def problem(name: str, text: str, **perturbations: str) -> Problem:
    return Problem(name, text, "1", {"perturbations": perturbations} if perturbations else {})


TRAIN = [problem(f"t{n}", story(n)) for n in range(50)]


def only(evaluation: Problem, train: list[Problem] = TRAIN):
    hits = find_overlaps(train, {"eval": [evaluation]})
    assert len(hits) <= 1
    return hits[0] if hits else None


def test_a_copy_is_found_whatever_its_case_spacing_and_punctuation():
    hit = only(problem("e", f"  {story(7).upper()}.\n"))
    assert (hit.evaluation, hit.evaluation_id, hit.train_id, hit.train_text) == ("eval", "e", "t7", "problem")
    assert hit.exact
    assert hit.share == 1.0


def test_a_copy_in_another_frame_is_found():
    hit = only(problem("e", f"During a warm-up, consider: {story(7)} Show your work."))
    assert (hit.train_id, hit.exact) == ("t7", False)
    assert hit.share > 0.9


def test_a_paraphrase_is_found_by_what_it_keeps():
    text = story(7).split()
    text[::25] = ["other"] * len(text[::25])
    hit = only(problem("e", " ".join(text)))
    assert hit.train_id == "t7"
    assert 0.2 < hit.share < 0.9


def test_rewrites_count_on_both_sides():
    train = [*TRAIN, problem("r", story(900), scenario_wrap=story(901))]
    assert only(problem("e", story(901)), train)[3:5] == ("r", "scenario_wrap")
    assert only(problem("e", story(902), typo_noise=story(7)))[2:5] == ("typo_noise", "t7", "problem")


def test_short_problems_overlap_only_as_a_whole():
    train = [*TRAIN, problem("s", "What is 2+3?")]
    assert only(problem("e", "what is $2+3$"), train).exact
    assert only(problem("e", "What is 2-3?"), train) is None


def test_strangers_and_stock_phrases_do_not_overlap():
    assert only(problem("e", story(5000))) is None
    train = [problem(f"t{n}", f"{story(n, 12)} {STOCK}") for n in range(COMMON + 1)]
    assert only(problem("e", f"{story(5000, 12)} {STOCK}"), train) is None
    assert only(problem("e", f"{story(5000, 12)} {STOCK}"), train[:COMMON]) is not None


def test_problems_in_other_scripts_are_told_apart():
    train = [problem("t", "求满足条件的所有正整数的和是多少请写出答案")]
    assert only(problem("e", "设三角形的边长为整数求其面积的最大值是多少"), train) is None
    assert only(problem("e", "求满足条件的所有正整数的和是多少，请写出答案。"), train) is not None
