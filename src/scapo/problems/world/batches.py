"""What the base policy is pre-trained on: settings, texts, batches."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from scapo.problems.template import chat_prompt
from scapo.problems.world.drills import drill
from scapo.problems.world.noise import noisy
from scapo.problems.world.solutions import Habits, worked_example
from scapo.problems.world.stories import stories
from scapo.problems.world.tokenizer import train_tokenizer

BATCHES_PER_SORT = 32  # examples are sorted by length within this many batches: little padding, still mixed
TOKENIZER_TEXTS = 6000
EQUATIONS_PER_DRILL = 12  # about as many tokens as a worked example
Tokenizer = Any


@dataclass(frozen=True, kw_only=True)
class Pretraining:
    """Every setting of the shipped base policy."""

    seed: int = 0
    steps: int = 2000
    batch_size: int = 32
    drills: int = 8  # rows of bare equations added to every batch
    learning_rate: float = 4e-3
    warmup: int = 100
    weight_decay: float = 0.05
    noise_share: float = 0.25
    vocab_size: int = 1024
    hidden_size: int = 96
    layers: int = 4
    habits: Habits = field(default_factory=Habits)


def examples(settings: Pretraining) -> Iterator[tuple[str, str]]:
    """Endless (problem, worked solution) pairs from the stories that are reserved for pre-training."""
    for story, rng in stories("pretrain", settings.seed):
        problem, solution = worked_example(story, rng, settings.habits)
        yield noisy(problem, rng, settings.noise_share), solution


def build_tokenizer(settings: Pretraining) -> Tokenizer:
    """Trained on the first examples as whole chats."""
    pairs = islice(examples(settings), TOKENIZER_TEXTS)
    roles = "system\nuser\nassistant\n"
    return train_tokenizer(
        (f"{roles}{chat_prompt(p)[0]['content']}\n{s}" for p, s in pairs), settings.vocab_size
    )


Row = tuple[list[int], list[bool]]  # tokens, and which of them the model shall learn to say


def batches(settings: Pretraining, tokenizer: Tokenizer) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless (tokens, wanted), both (batch, T), of rows of similar length, padded on the right."""
    source, rng = examples(settings), random.Random(settings.seed)
    while True:
        drawn = [_worked_row(tokenizer, *next(source)) for _ in range(BATCHES_PER_SORT * settings.batch_size)]
        drawn.sort(key=lambda row: len(row[0]))
        starts = list(range(0, len(drawn), settings.batch_size))
        rng.shuffle(starts)
        for start in starts:
            drills = [_drill_row(tokenizer, drill(rng, EQUATIONS_PER_DRILL)) for _ in range(settings.drills)]
            yield _padded([*drawn[start : start + settings.batch_size], *drills], tokenizer.pad_token_id)


def _worked_row(tokenizer: Tokenizer, problem: str, solution: str) -> Row:
    chat = tokenizer.apply_chat_template(chat_prompt(problem), add_generation_prompt=True, tokenize=False)
    prompt, response = tokenizer(chat).input_ids, [*tokenizer(solution).input_ids, tokenizer.eos_token_id]
    return prompt + response, [False] * len(prompt) + [True] * len(response)


def _drill_row(tokenizer: Tokenizer, equations: list[tuple[str, str]]) -> Row:
    tokens: list[int] = []
    wanted: list[bool] = []
    for given, result in equations:
        question, answer = tokenizer(given).input_ids, tokenizer(result).input_ids
        tokens += question + answer
        wanted += [False] * len(question) + [True] * len(answer)
    return tokens, wanted


def _padded(rows: list[Row], pad: int) -> tuple[Tensor, Tensor]:
    length = max(len(tokens) for tokens, _ in rows)
    return (
        torch.tensor([tokens + [pad] * (length - len(tokens)) for tokens, _ in rows]),
        torch.tensor([wanted + [False] * (length - len(wanted)) for _, wanted in rows]),
    )
