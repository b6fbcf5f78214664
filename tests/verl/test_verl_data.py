"""`scapo problems to-verl`: the Parquet file, what the engine refuses of it, and the reward behind it."""

import importlib
import json

import pytest
from datasets import Dataset
from typer.testing import CliRunner

from scapo.cli import app
from scapo.engines.verl.data import REWARD_FUNCTION, check_training_file
from scapo.errors import ScapoError

PROBLEMS = [
    {
        "id": "a",
        "problem": "Add 1 and 2.",
        "answer": "3",
        "perturbations": {"paraphrase": "Sum up 1 and 2.", "counterfactual": "Add 1 and 5."},
    },
    {"id": "b", "problem": "Add 2 and 2.", "answer": "4", "perturbations": {"typo_noise": "Ad 2 and 2."}},
    {"id": "c", "problem": "What is nothing?", "answer": "", "perturbations": {}},
]
PROMPT = "{}\n\nPlease reason step by step, and put your final answer within \\boxed{{}}."


def chat(text):
    return [{"role": "user", "content": PROMPT.format(text)}]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in PROBLEMS))
    return path


def to_verl(source, output):
    return CliRunner().invoke(
        app, ["problems", "to-verl", str(source), "-o", str(output)], catch_exceptions=False
    )


def test_rows_hold_prompts_rewrites_and_golds(source, tmp_path):
    output = tmp_path / "deep" / "train.parquet"
    said = to_verl(source, output).output
    assert f"2 problems, 2 with rewrites, 1 refused: {output}" in said
    rows = list(Dataset.from_parquet(str(output)))
    assert [row["prompt"] for row in rows] == [chat("Add 1 and 2."), chat("Add 2 and 2.")]
    assert rows[0]["perturbations"] == {
        "paraphrase": chat("Sum up 1 and 2."),
        "typo_noise": None,
        "counterfactual": chat("Add 1 and 5."),
    }
    assert rows[1]["perturbations"] == {
        "paraphrase": None,
        "typo_noise": chat("Ad 2 and 2."),
        "counterfactual": None,
    }
    assert rows[1]["reward_model"] == {"style": "rule", "ground_truth": "4", "function": REWARD_FUNCTION}
    assert rows[1]["extra_info"] == {"index": 1, "id": "b"}
    assert sorted(path.name for path in output.parent.iterdir()) == ["train.parquet"]


def test_the_reward_function_named_in_the_file_scores_as_everywhere():
    module, name = REWARD_FUNCTION.removeprefix("pkg://").split(":")
    compute = getattr(importlib.import_module(module), name)
    right = compute("scapo", "so \\boxed{4}", "4", extra_info={})
    assert right == {"score": 1.0, "acc": 1.0, "reason": "correct", "extracted": "4"}
    assert compute(data_source="scapo", solution_str="4", ground_truth="4") == {
        "score": 0.0,
        "acc": 0.0,
        "reason": "no_box",
        "extracted": "",
    }


def test_another_ending_is_refused(source, tmp_path):
    with pytest.raises(ScapoError, match=r"verl knows a Parquet file by its ending \.parquet"):
        to_verl(source, tmp_path / "train.jsonl")


def test_a_training_file_is_checked_before_anything_starts(source, tmp_path):
    output = tmp_path / "train.parquet"
    to_verl(source, output)
    assert check_training_file(output, ("typo_noise",)) == f"2 problems from {output}, 1 with rewrites"
    assert check_training_file(output, ()) == f"2 problems from {output}"
    with pytest.raises(ScapoError, match=r"No problem in .* has a rewrite of the kinds scenario_wrap"):
        check_training_file(output, ("scenario_wrap",))
    with pytest.raises(ScapoError, match="is not a Parquet file"):
        check_training_file(source, ())
    Dataset.from_list([{"prompt": "a"}]).to_parquet(str(output))
    with pytest.raises(ScapoError, match="has no column data_source, reward_model, extra_info"):
        check_training_file(output, ())
    output.write_text("no parquet")
    with pytest.raises(ScapoError, match="can't be read as Parquet"):
        check_training_file(output, ())


def test_problems_without_rewrites_serve_grpo(source, tmp_path):
    rows = [{key: row[key] for key in ("id", "problem", "answer")} for row in PROBLEMS[:2]]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    output = tmp_path / "train.parquet"
    assert "2 problems, 0 with rewrites" in to_verl(source, output).output
    assert check_training_file(output, ()) == f"2 problems from {output}"
    with pytest.raises(ScapoError, match="has a rewrite of the kinds paraphrase"):
        check_training_file(output, ("paraphrase",))
