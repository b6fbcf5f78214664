"""What ScapoTrainer relies on in TRL; when one of these fails, TRL has moved."""

import inspect

import pytest
import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer


@pytest.fixture
def stock(tiny_model, tiny_tokenizer, rows, reward, settings):
    return GRPOTrainer(
        tiny_model,
        reward,
        GRPOConfig(**settings()),
        train_dataset=Dataset.from_list(rows),
        processing_class=tiny_tokenizer,
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("_generate_and_score_completions", ["self", "inputs"]),
        ("_compute_loss", ["self", "model", "inputs"]),
        ("_generate", ["self", "prompts"]),
        ("_calculate_rewards", ["self", "inputs", "prompts", "completions", "completion_ids_list"]),
        ("_tokenize_prompts", ["self", "prompts"]),
        ("_save_checkpoint", ["self", "model", "trial"]),
    ],
)
def test_the_methods_and_their_arguments(name, arguments):
    assert list(inspect.signature(getattr(GRPOTrainer, name)).parameters) == arguments


def test_rows_come_back_in_order_with_the_keys_we_read(stock):
    batch = next(iter(stock.get_train_dataloader()))
    stock.model.train()
    output = stock._generate_and_score_completions(batch)
    assert {"prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "advantages"} <= set(output)
    assert output["advantages"].shape == (16,)
    for row, ids, mask in zip(batch, output["prompt_ids"], output["prompt_mask"], strict=True):
        assert ids[mask.bool()].tolist() == stock._tokenize_prompts([row["prompt"]])[0][0]
    questions = [row["problem"] for row in batch]
    assert all(len(set(questions[i : i + 4])) == 1 for i in range(0, 16, 4))
    assert {"id", "answer", "perturbations"} <= set(batch[0])


@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "bnpo", "dr_grpo"])
def test_advantages_per_token_are_accepted_and_used(stock, loss_type):
    stock.loss_type = loss_type
    batch = next(iter(stock.get_train_dataloader()))
    stock.model.train()
    stock.current_gradient_accumulation_steps = 1
    output = stock._generate_and_score_completions(batch)
    shape = output["completion_ids"].shape
    spread = output["advantages"][:, None].expand(shape).contiguous()
    per_row = stock._compute_loss(stock.model, output)
    per_token = stock._compute_loss(stock.model, output | {"advantages": spread})
    assert torch.equal(per_row, per_token)
    bumped = spread.clone()
    bumped[3, 0] += 1.0  # one token's advantage moves the loss by its share, at ratio 1
    gap = stock._compute_loss(stock.model, output | {"advantages": bumped}) - per_token
    tokens = output["completion_mask"].sum().item()
    length = output["completion_mask"][3].sum().item()
    expected = {"grpo": 1 / 16 / length, "dr_grpo": 1 / 16 / 12, "bnpo": 1 / tokens, "dapo": 2 / tokens}[
        loss_type
    ]
    assert gap.item() == pytest.approx(-expected, rel=1e-3)


def test_extra_rows_travel_through_shuffle_and_split(stock):
    from trl.trainer.utils import shuffle_sequence_dict, split_tensor_dict

    batch = {"a": torch.arange(6), "b": torch.arange(6)[:, None] * 10.0}
    parts = split_tensor_dict(shuffle_sequence_dict(batch), 3)
    assert [part["b"].shape for part in parts] == [(2, 1)] * 3
    assert all(torch.equal(part["a"] * 10.0, part["b"][:, 0]) for part in parts)
    assert torch.cat([part["a"] for part in parts]).sort().values.tolist() == list(range(6))
