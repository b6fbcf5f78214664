"""Checkpoint and resume: 3 + 3 steps equal 6, a kill loses only the steps after the last whole checkpoint."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from datasets import Dataset

from scapo.engines.trl import ScapoConfig, ScapoTrainer, checkpoint
from scapo.engines.trl.runfiles import rewind
from scapo.errors import ScapoError

CLOCKED = ("time/", "tokens_per_second", "memory/")


@pytest.fixture
def run(tiny_folder, tiny_tokenizer, rows, reward, settings):
    """Train to `max_steps` with a checkpoint after every step; every call is a fresh trainer and model."""
    from transformers import AutoModelForCausalLM

    def go(folder, resume=False, data=rows, **changes):
        trainer = ScapoTrainer(
            AutoModelForCausalLM.from_pretrained(tiny_folder, dtype="float32"),
            reward,
            ScapoConfig(**settings(output_dir=str(folder), save_strategy="steps", save_steps=1, **changes)),
            train_dataset=Dataset.from_list(data),
            processing_class=tiny_tokenizer,
        )
        trainer.train(resume_from_checkpoint=resume)
        return trainer

    return go


def numbers(folder, name):
    """The lines of a file without what a clock says."""
    with open(folder / name) as file:
        rows = [json.loads(line) for line in file]
    return [{key: value for key, value in row.items() if not key.startswith(CLOCKED)} for row in rows]


def weights(trainer):
    return {name: p.tolist() for name, p in trainer.model.named_parameters()}


@pytest.mark.parametrize(
    "stop", [3, 4], ids=["in the middle of a rollout batch", "between two rollout batches"]
)
def test_stopped_and_resumed_equals_uninterrupted(run, tmp_path, stop):
    # n_0 = 5 ends inside the second half, in the middle of a rollout batch
    whole = run(tmp_path / "whole", max_steps=6, n_0=5)
    run(tmp_path / "parts", max_steps=stop, n_0=5)
    parts = run(tmp_path / "parts", resume=True, max_steps=6, n_0=5)
    for name in ("metrics.jsonl", "samples.jsonl"):
        assert numbers(tmp_path / "whole", name) == numbers(tmp_path / "parts", name)
    assert [row["step"] for row in numbers(tmp_path / "parts", "metrics.jsonl")] == [1, 2, 3, 4, 5, 6]
    assert weights(whole) == weights(parts)


def test_resuming_from_an_earlier_checkpoint_rewinds_the_files(run, tmp_path):
    run(tmp_path / "run", max_steps=6)
    before = numbers(tmp_path / "run", "metrics.jsonl"), numbers(tmp_path / "run", "samples.jsonl")
    run(tmp_path / "run", resume=str(tmp_path / "run/checkpoint-2"), max_steps=6)
    assert (numbers(tmp_path / "run", "metrics.jsonl"), numbers(tmp_path / "run", "samples.jsonl")) == before


def test_a_checkpoint_cut_short_is_passed_over(run, tmp_path):
    run(tmp_path / "run", max_steps=3)
    (tmp_path / "run/checkpoint-3/trainer_state.json").write_text('{"global_step": 3, "log')
    assert checkpoint.last_complete(tmp_path / "run").name == "checkpoint-2"
    shutil.rmtree(tmp_path / "run/checkpoint-2")
    shutil.rmtree(tmp_path / "run/checkpoint-1")
    with pytest.raises(ScapoError, match="no complete checkpoint"):
        run(tmp_path / "run", resume=True, max_steps=3)


def test_other_data_are_refused_on_resume(run, rows, tmp_path):
    run(tmp_path / "run", max_steps=2)
    rows[5] = rows[5] | {"answer": "999"}
    with pytest.raises(ScapoError, match="made with another training set"):
        run(tmp_path / "run", resume=True, data=rows, max_steps=4)


def test_another_number_of_processes_is_refused(run, tmp_path):
    run(tmp_path / "run", max_steps=1)
    folder = tmp_path / "run/checkpoint-1"
    (folder / "scapo_state_0_of_1.pt").rename(folder / "scapo_state_0_of_2.pt")
    assert checkpoint.last_complete(tmp_path / "run") is None  # the second process's part is missing
    with pytest.raises(ScapoError, match=r"another number of processes than 1 \(it holds scapo_state_0_of_2"):
        run(tmp_path / "run", resume=str(folder), max_steps=2)


def test_rewind_keeps_lines_up_to_the_step_and_drops_a_torn_one(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 2}\n{"step": 3}\n{"step": 4, "lo')
    rewind(path, 2)
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n{"step": 2}\n'
    rewind(path, 0)
    assert path.read_text() == ""
    rewind(tmp_path / "absent.jsonl", 3)
    assert not (tmp_path / "absent.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_command_resumes_to_the_same_numbers(
    tiny_folder, problem_file, recipe_file, tmp_path, number
):
    def command(output, *more):
        words = ["train", str(recipe_file), "--output", str(output), "--trainer.max_steps", "8", *more]
        code = "from scapo.cli import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    first, second = command(whole), command(cut)
    deadline = time.monotonic() + 120
    while not (cut / "checkpoint-3").exists() and second.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(second.pid, number)
    output = second.communicate(timeout=120)[0].decode()
    if number == signal.SIGINT:
        assert "Stopped at step" in output or "Done" in output, output
        assert second.returncode == 0
    third = command(cut, "--resume")
    output = third.communicate(timeout=120)[0].decode()
    assert third.returncode == 0, output
    assert first.wait(timeout=120) == 0
    for name in ("metrics.jsonl", "samples.jsonl"):
        assert numbers(whole, name) == numbers(cut, name)
    assert (cut / "model/model.safetensors").read_bytes() == (whole / "model/model.safetensors").read_bytes()
