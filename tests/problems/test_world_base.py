"""The shipped base policy: small, complete, an ordinary checkpoint, as good and as bad as its card says."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from scapo.problems.world.measure import complete, is_right
from scapo.problems.world.rows import world_rows

BASE = Path(str(files("scapo.problems.world") / "base"))


@pytest.fixture(scope="module")
def policy():
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    return AutoModelForCausalLM.from_pretrained(BASE), tokenizer


def test_the_package_data_is_under_five_megabytes():
    assert sum(path.stat().st_size for path in BASE.iterdir()) < 5_000_000


def test_it_loads_without_any_argument_in_float32_with_fewer_than_a_million_parameters(policy):
    model, _ = policy
    assert model.dtype == torch.float32
    assert model.config.model_type == "qwen3"
    assert 300_000 < model.num_parameters() < 1_000_000


def test_special_tokens_agree_between_tokenizer_model_and_generation(policy):
    model, tokenizer = policy
    generation = GenerationConfig.from_pretrained(BASE)
    for config in (model.config, generation):
        assert config.eos_token_id == tokenizer.eos_token_id == tokenizer.convert_tokens_to_ids("<|im_end|>")
        assert config.pad_token_id == tokenizer.pad_token_id != tokenizer.eos_token_id


def carded():
    """The greedy column of the card's table: split -> accuracy."""
    table = re.findall(r"^\| (\w+) \| [\d.]+ ± [\d.]+ \| ([\d.]+) \|", (BASE / "README.md").read_text(), re.M)
    return {split: float(accuracy) for split, accuracy in table}


@pytest.mark.parametrize("split", ["agree", "conflict", "neutral", "noop"])
def test_greedy_accuracy_on_fifty_problems_is_what_the_card_says(policy, split):
    rows = world_rows(split, 50, seed=0)
    completions = complete(*policy, [row["problem"] for row in rows], greedy=True)
    accuracy = sum(is_right(*pair) for pair in zip(rows, completions, strict=True)) / len(rows)
    assert accuracy == pytest.approx(carded()[split], abs=0.15)  # about two standard errors of 50 at 0.5


def test_the_shortcut_is_in_it(policy):
    assert carded()["agree"] > carded()["conflict"] + 0.3


def test_responses_are_short_and_end_in_a_box(policy):
    _, tokenizer = policy
    rows = world_rows("train", 50, seed=0)
    for completion in complete(*policy, [row["problem"] for row in rows], greedy=True):
        assert re.search(r"\\boxed\{\d+\}\.$", completion)
        assert 15 <= len(tokenizer(completion).input_ids) <= 48


def test_weights_are_plain_and_no_code_comes_along():
    names = {path.name for path in BASE.iterdir()}
    assert "model.safetensors" in names
    assert not any(name.endswith((".py", ".bin", ".pt")) for name in names)
    assert "auto_map" not in json.loads((BASE / "config.json").read_text())
