"""How the base policy does on the embedded world: the numbers of its model card."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.table import Table
from transformers import AutoModelForCausalLM, AutoTokenizer

from scapo.problems.template import chat_prompt
from scapo.problems.world.rows import SPLITS, world_rows
from scapo.problems.world.spans import shortcut_spans

MAX_NEW_TOKENS = 64
BATCH = 128
SAMPLES = 8
GREEDY = {"do_sample": False}
SAMPLED = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
Numbers = dict[str, float]


def complete(model: Any, tokenizer: Any, problems: Sequence[str], *, greedy: bool = False) -> list[str]:
    """One completion per problem, sampled at temperature 1 from the whole vocabulary, or greedy."""
    completions: list[str] = []
    for start in range(0, len(problems), BATCH):
        chats = [
            tokenizer.apply_chat_template(chat_prompt(problem), add_generation_prompt=True, tokenize=False)
            for problem in problems[start : start + BATCH]
        ]
        inputs = tokenizer(chats, return_tensors="pt", padding=True, return_token_type_ids=False)
        with torch.inference_mode():
            tokens = model.generate(
                **inputs, max_new_tokens=MAX_NEW_TOKENS, **(GREEDY if greedy else SAMPLED)
            )
        responses = tokens[:, inputs["input_ids"].shape[1] :]
        completions += tokenizer.batch_decode(responses, skip_special_tokens=True)
    return completions


def is_right(row: dict[str, Any], completion: str) -> bool:
    """The last boxed integer is the answer (the world's answers are plain integers)."""
    boxed = re.findall(r"\\boxed\{(\d{1,9})\}", completion)
    return bool(boxed) and int(boxed[-1]) == int(row["answer"])


def measure(
    checkpoint: Path | str, *, problems: int, samples: int = SAMPLES, seed: int = 0
) -> dict[str, Numbers]:
    """Per split: accuracy sampled and greedy, share that followed a wrong scene, share of mixed groups."""
    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    return {split: _numbers(model, tokenizer, world_rows(split, problems, seed), samples) for split in SPLITS}


def _numbers(model: Any, tokenizer: Any, rows: list[dict[str, Any]], samples: int) -> Numbers:
    repeated = [row for row in rows for _ in range(samples)]
    sampled = list(
        zip(repeated, complete(model, tokenizer, [row["problem"] for row in repeated]), strict=True)
    )
    greedy = complete(model, tokenizer, [row["problem"] for row in rows], greedy=True)
    right = torch.tensor([is_right(*pair) for pair in sampled]).float().view(-1, samples)
    followed = [any(span.followed_scene for span in shortcut_spans(*pair)) for pair in sampled]
    return {
        "sampled": right.mean().item(),
        "stderr": (right.mean(1).std() / len(rows) ** 0.5).item(),
        "greedy": sum(is_right(*pair) for pair in zip(rows, greedy, strict=True)) / len(rows),
        "followed_scene": sum(followed) / len(followed),
        "mixed_groups": ((right.mean(1) > 0) & (right.mean(1) < 1)).float().mean().item(),
    }


def measure_table(results: dict[str, Numbers]) -> Table:
    """The results with one line per split."""
    table = Table("split", "sampled (T = 1)", "greedy", "followed a wrong scene", "groups with mixed rewards")
    for split, numbers in results.items():
        table.add_row(
            split,
            f"{numbers['sampled']:.3f} +- {numbers['stderr']:.3f}",
            *(f"{numbers[key]:.3f}" for key in ("greedy", "followed_scene", "mixed_groups")),
        )
    return table
