"""What the credit sees of the world's planted shortcut, by hand and in a run."""

import json
from pathlib import Path

import pytest
import torch
from datasets import Dataset

from scapo.engines.trl import ScapoConfig, ScapoTrainer
from scapo.engines.trl.shortcut import followed_tokens, share_below, within_responses

WORLD = {"operations": ["add", "multiply"], "scene": "kitchen", "scene_operation": "multiply", "agree": False}


def test_the_share_of_tokens_that_get_more_counts_ties_half():
    # of 0 1 1 3: more than 1: one and two ties, (1 + 2 / 2) / 4; more than -1: all; more than 4: none
    found = share_below(torch.tensor([1.0, -1.0, 4.0]), torch.tensor([3.0, 1.0, 0.0, 1.0]))
    assert found.tolist() == [0.5, 1.0, 0.0]


def test_within_a_response_an_even_credit_sees_nothing():
    mask = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0]]).bool()
    marked = torch.tensor([[0, 1, 0], [0, 0, 0], [1, 0, 0]]).bool()
    even = torch.tensor([[0.1], [-7.0], [0.3]]).expand(3, 3)
    assert within_responses(even, marked, mask).tolist() == [0.5]  # row 3 has no other token
    seen = even.clone()
    seen[0, 1] -= 0.2
    assert within_responses(seen, marked, mask).tolist() == [1.0]
    assert within_responses(even, mask & False, mask).tolist() == []


def test_only_tokens_of_operators_that_followed_the_scene_are_marked():
    text = "3 × 4 = 12. 12 × 2 = 24"  # step 1 follows the scene against "add", step 2 is asked to multiply
    offsets = [(i, i + 1) for i in range(len(text))]
    assert followed_tokens({"world": WORLD}, text, offsets) == [2]
    assert followed_tokens({"world": WORLD}, text, [(0, 3), (3, 5)]) == [0]
    assert followed_tokens({"world": WORLD}, "3 + 4 = 7", offsets) == []


@pytest.mark.parametrize("credit", ["outcome", "semifactual"])
def test_a_run_on_world_problems_reports_it(tiny_model, tiny_tokenizer, rows, settings, credit):
    data = Dataset.from_list([row | {"world": WORLD} for row in rows])
    texts = ["3 * 4 = 12", "3 + 4 = 7"]
    trainer = ScapoTrainer(
        tiny_model,
        lambda completions, **_: [0.0, 1.0] * (len(completions) // 2),
        ScapoConfig(**settings(credit=credit, max_steps=1)),
        train_dataset=data,
        processing_class=tiny_tokenizer,
    )
    ids = [[*tiny_tokenizer.encode(text), tiny_tokenizer.eos_token_id] for text in texts]
    trainer._generate_single_turn = lambda prompts, *_, **__: (
        [ids[i % 2] for i in range(len(prompts))],
        None,
    )
    trainer.train()
    (metrics,) = map(json.loads, Path(trainer.args.output_dir, "metrics.jsonl").read_text().splitlines())
    assert metrics["credit/shortcut_share"] == pytest.approx(1 / (len(ids[0]) + len(ids[1])))
    assert metrics["credit/on_shortcut"] < metrics["credit/off_shortcut"]
    assert metrics["credit/shortcut_auc"] > 0.5
    if credit == "outcome":  # right responses get more; the rest of the wrong response ties
        more, ties = len(ids[1]), len(ids[0]) - 1
        assert metrics["credit/shortcut_auc"] == pytest.approx((more + ties / 2) / (more + ties))
        assert metrics["credit/shortcut_auc_within"] == 0.5
