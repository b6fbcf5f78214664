"""`scapo train` from end to end on a tiny model: what it says, leaves behind, and refuses."""

import json
import shutil

import pytest
import torch
from typer.testing import CliRunner

from scapo.cli import app
from scapo.engines.trl.recipe import load_recipe
from scapo.engines.trl.run import set_threads, train
from scapo.errors import ScapoError
from scapo.files import output_lock


def command(*words):
    return CliRunner().invoke(app, ["train", *map(str, words)], catch_exceptions=False)


def test_a_run_says_what_it_does_and_leaves_a_model(recipe_file, tmp_path):
    output = tmp_path / "run"
    said = command(recipe_file, "--output", output, "--label", "mine", "--method.n_0", "2").output
    for sentence in (
        "12 problems from",
        "mine: ",
        "credit semifactual, objective clipped, lambda 0.01 for the first 2 optimiser steps",
        "4 optimiser steps; a rollout of 4 prompts x 4 responses of at most 12 tokens feeds 2 of them",
        "stop ids [2] ('<|im_end|>')",
        "mine  step 4/4  reward 0.000",
        f"Done: {output / 'model'}",
    ):
        assert sentence in said.replace("\n", " ")
    config = json.loads((output / "config.json").read_text())
    assert (config["kind"], config["label"], config["seed"]) == ("train", "mine", 42)
    assert (config["recipe"]["method"]["n_0"], config["recipe"]["method"]["dead_groups"]) == (2, "keep")
    assert config["recipe"]["rollout"]["prompts"] == 4
    assert config["recipe"]["trainer"]["learning_rate"] == 1e-3
    assert config["data"]["problems"] == 12
    assert len(config["data"]["sha256"]) == 64
    assert {"torch", "trl", "scapo"} <= set(config["versions"])
    from transformers import AutoModelForCausalLM, AutoTokenizer

    AutoModelForCausalLM.from_pretrained(output / "model")
    assert AutoTokenizer.from_pretrained(output / "model").chat_template


def test_a_directory_holds_one_run(recipe_file, problem_file, tmp_path):
    output = tmp_path / "run"
    train(
        load_recipe(recipe_file, ["--trainer.max_steps", "1"]), output, resume=True
    )  # nothing there: starts
    with pytest.raises(ScapoError, match="already holds a run"):
        train(load_recipe(recipe_file), output)
    with pytest.raises(ScapoError, match=r"was started with method = .* A run can't change that"):
        train(load_recipe(recipe_file, ["--method.lambda_0", "0.02"]), output, resume=True)
    done = command(recipe_file, "--resume", "--output", output, "--trainer.max_steps", "1").output
    assert "has already reached step 1" in done
    problem_file.write_text(problem_file.read_text().replace("paraphrase", "typo_noise", 1))
    with pytest.raises(ScapoError, match="has changed since"):
        train(load_recipe(recipe_file), output, resume=True)


def test_missing_rewrites_stop_before_the_model_with_the_command_that_makes_them(recipe_file, problem_file):
    rows = [json.loads(line) for line in problem_file.read_text().splitlines()]
    problem_file.write_text("".join(json.dumps(row | {"perturbations": {}}) + "\n" for row in rows))
    with pytest.raises(
        ScapoError, match=r"No problem in .* `scapo perturb .* -o OUT.jsonl --kinds paraphrase,"
    ):
        train(load_recipe(recipe_file, ["--model", "no/such-model"]), recipe_file.parent / "out")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--train.path", "gone.jsonl"], "train.path is gone.jsonl, which is not a file"),
        (["--model", "runs/no/such-folder"], "model is runs/no/such-folder, which does not exist here"),
        (["--model", "no/such-model"], "No tokenizer found for model 'no/such-model'"),
        (
            ["--train.max_prompt_tokens", "5"],
            "leaves 0 problems within 5 prompt tokens, but one rollout takes 4",
        ),
        (["--rollout.prompts", "16"], "leaves 12 problems"),
        (["--stop_tokens", "[<stop>]"], "stop_tokens holds '<stop>'"),
        (["--dtype", "float7"], "dtype is 'float7'"),
    ],
)
def test_bad_input_is_a_sentence(recipe_file, tmp_path, monkeypatch, words, sentence):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ScapoError, match=sentence):
        train(load_recipe(recipe_file, words), tmp_path / "out")
    assert not (tmp_path / "out/config.json").exists()


def test_over_long_problems_are_left_out_with_a_count(recipe_file, problem_file, tmp_path):
    rows = [json.loads(line) for line in problem_file.read_text().splitlines()]
    rows[3]["perturbations"]["scenario_wrap"] = "At the market " * 200
    problem_file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [
        recipe_file,
        "--output",
        tmp_path / "run",
        "--trainer.max_steps",
        "1",
        "--train.max_prompt_tokens",
        "200",
    ]
    said = command(*words).output
    assert "1 problems left out: a prompt or a rewrite is over 200 tokens" in said


def test_lora_by_recipe(recipe_file, tmp_path):
    words = ["--lora.r", "2", "--lora.target_modules", "[q_proj]", "--trainer.max_steps", "1"]
    model = train(load_recipe(recipe_file, words), tmp_path / "run")
    assert (model / "adapter_model.safetensors").exists()


def test_stop_tokens_join_the_model_s_own(recipe_file, tmp_path):
    words = [recipe_file, "--output", tmp_path / "run", "--trainer.max_steps", "1"]
    said = command(*words, "--stop_tokens", "['<|endoftext|>']").output
    assert "stop ids [2, 0] ('<|im_end|>', '<|endoftext|>')" in said


def test_threads_are_set_on_purpose(monkeypatch):
    before = torch.get_num_threads()
    try:
        set_threads(3)
        assert torch.get_num_threads() == 3
        monkeypatch.setenv("OMP_NUM_THREADS", "7")
        set_threads(None)  # the environment has spoken, at torch's start
        assert torch.get_num_threads() == 3
        monkeypatch.delenv("OMP_NUM_THREADS")
        monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
        set_threads(None)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_resuming_never_overwrites_a_finished_model_whose_checkpoints_are_gone(recipe_file, tmp_path):
    output = tmp_path / "run"
    words = ["--trainer.max_steps", "1"]
    train(load_recipe(recipe_file, words), output)
    for folder in output.glob("checkpoint-*"):
        shutil.rmtree(folder)
    with pytest.raises(ScapoError, match="finished model, but no complete checkpoint"):
        train(load_recipe(recipe_file, words), output, resume=True)


def test_a_second_training_in_one_directory_is_refused_before_a_model_is_loaded(recipe_file, tmp_path):
    wanted = load_recipe(recipe_file, ["--model", "no/such/model"])
    with output_lock(tmp_path / "run"), pytest.raises(ScapoError, match="run is being written by another"):
        train(wanted, tmp_path / "run")
