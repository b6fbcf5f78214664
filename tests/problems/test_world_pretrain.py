"""Pre-training of the base policy: what it reads, what it learns from, and that a seed fixes it."""

import random
import re
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
import torch

from scapo.problems.world import batches as batches_module
from scapo.problems.world.batches import Pretraining, batches, build_tokenizer
from scapo.problems.world.drills import drill
from scapo.problems.world.lexicon import SYMBOLS
from scapo.problems.world.noise import noisy
from scapo.problems.world.pretrain import learning_rate_factor, optimizers, pretrain, token_loss
from scapo.problems.world.solutions import Habits, worked_example
from scapo.problems.world.spans import shortcut_spans
from scapo.problems.world.stories import stories, story_text

TINY = Pretraining(steps=2, batch_size=4, drills=1, warmup=1, hidden_size=32, layers=1)
EQUATION = re.compile(r"(\d+)([-+*/])(\d+)=(\d+)")


@pytest.fixture(scope="module", autouse=True)
def few_texts():
    """A tokenizer from 300 texts in place of thousands, short sorting windows: the same code in less time."""
    patch = pytest.MonkeyPatch()
    patch.setattr(batches_module, "TOKENIZER_TEXTS", 300)
    patch.setattr(batches_module, "BATCHES_PER_SORT", 2)
    torch.set_num_threads(1)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def tokenizer(few_texts):
    return build_tokenizer(TINY)


def solved(habits, count):
    """Drawn stories, each with its problem text and worked solution."""
    for story, rng in islice(stories("pretrain", 0), count):
        yield story, *worked_example(story, rng, habits)


def test_every_equation_of_every_solution_and_drill_holds():
    texts = [solution for _, _, solution in solved(Habits(), 400)]
    texts += ["".join(map("".join, drill(random.Random(0), 200)))]
    for a, sign, b, result in EQUATION.findall(" ".join(texts)):
        a, b, result = int(a), int(b), int(result)
        assert {"+": a + b == result, "-": a - b == result, "*": a * b == result, "/": a == result * b}[sign]


def test_a_solver_without_faults_is_always_right_and_ends_in_a_box():
    habits = Habits(follow_scene=0.0, slip=0.0, distracted=0.0)
    for story, _, solution in solved(habits, 300):
        assert solution.endswith(f"\\boxed{{{story.answer}}}.")
        assert [sign for _, sign, _, _ in EQUATION.findall(solution)] == [
            SYMBOLS[o] for o in story.operations
        ]


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_the_scene_is_followed_in_the_share_of_conflicts_that_was_asked_for(share):
    habits = Habits(follow_scene=share, slip=0.0, distracted=0.0, scene_share=1.0, clause_share=0.0)
    followed = Counter()
    for story, problem, solution in solved(habits, 1200):
        conflict = scene_of(problem) == story.decoy
        world = {"operations": story.operations, "scene_operation": story.decoy if conflict else None}
        if conflict:
            followed[shortcut_spans({"world": world}, solution)[0].followed_scene] += 1
    assert 500 < followed.total() < 700  # half of the stories
    assert followed[True] / followed.total() == pytest.approx(share, abs=0.07)  # 3 standard errors


def scene_of(problem):
    from scapo.problems.world.lexicon import SCENES

    (operation,) = [name for name, scenes in SCENES.items() if problem.split(",")[0] in scenes]
    return operation


def test_noise_touches_about_the_share_asked_for_and_keeps_every_number_of_the_story():
    rng = random.Random(0)
    texts = [story_text(story) for story, _ in islice(stories("pretrain", 0), 400)]
    noised = [noisy(text, rng, 0.5) for text in texts]
    changed = [(before, after) for before, after in zip(texts, noised, strict=True) if before != after]
    assert 150 < len(changed) <= 210
    for before, after in changed:
        numbers = re.findall(r"\d+", before)
        assert re.findall(r"\d+", after)[: len(numbers)] == numbers
    assert [noisy(text, rng, 0.0) for text in texts] == texts


@pytest.mark.parametrize(
    "text", ["12+5=17", "naïve 日本 🙂 \x00 \\frac{1}{2}\n\n", "  two  spaces ", "x" * 50]
)
def test_the_tokenizer_takes_any_text_and_gives_it_back(tokenizer, text):
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_digits_are_single_tokens_and_special_tokens_are_apart(tokenizer):
    assert tokenizer.tokenize("1234") == ["1", "2", "3", "4"]
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.pad_token_id != tokenizer.eos_token_id
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], add_generation_prompt=True, tokenize=False
    )
    assert chat == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_only_responses_with_their_end_and_results_of_drills_are_learnt(tokenizer):
    tokens, wanted = next(batches(TINY, tokenizer))
    learnt = [tokenizer.decode(row[keep]) for row, keep in zip(tokens, wanted, strict=True)]
    for text in learnt[:-1]:
        assert re.search(r"\\boxed\{\d+\}\.<\|im_end\|>$", text)
        assert "Please reason" not in text
    assert re.fullmatch(r"(\d+\.)+", learnt[-1])
    assert "<|pad|>" not in "".join(learnt)


def test_loss_is_the_mean_over_wanted_tokens(tokenizer):
    from scapo.problems.world.pretrain import build_model

    model = build_model(TINY, tokenizer)
    tokens, wanted = next(batches(TINY, tokenizer))
    logp = model(tokens).logits.double().log_softmax(-1)
    terms = [
        -logp[row, t - 1, tokens[row, t]].item()
        for row in range(len(tokens))
        for t in range(1, tokens.shape[1])
        if wanted[row, t]
    ]
    assert token_loss(model, tokens, wanted).item() == pytest.approx(sum(terms) / len(terms), rel=1e-5)


def test_every_weight_has_exactly_one_optimizer(tokenizer):
    from scapo.problems.world.pretrain import build_model

    model = build_model(TINY, tokenizer)
    held = [id(p) for o in optimizers(TINY, model) for group in o.param_groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in model.parameters())


def test_the_learning_rate_rises_to_its_peak_and_falls_towards_zero():
    settings = replace(TINY, steps=10, warmup=4)
    factors = [learning_rate_factor(step, settings) for step in range(10)]
    # rises by 1/4 a step for 4 steps, then falls by 1/6 a step from step 4 on
    assert factors == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])


def test_one_seed_gives_the_same_bytes_and_another_seed_other_ones(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        pretrain(tmp_path / name, replace(TINY, seed=seed))
    weights = {name: (tmp_path / name / "model.safetensors").read_bytes() for name in "abc"}
    assert weights["a"] == weights["b"]
    assert weights["a"] != weights["c"]
    assert (tmp_path / "a" / "tokenizer.json").read_bytes() == (
        tmp_path / "b" / "tokenizer.json"
    ).read_bytes()
