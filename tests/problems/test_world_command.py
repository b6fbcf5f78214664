"""`scapo world` and `scapo world-pretrain` as a user runs them."""

import json

import pytest
import typer
from typer.testing import CliRunner

from scapo.errors import ScapoError
from scapo.problems import load_problems
from scapo.problems.world import batches
from scapo.problems.world.command import world, world_pretrain

app = typer.Typer()
app.command("world")(world)
app.command("world-pretrain")(world_pretrain)
FILES = ["test_agree.jsonl", "test_conflict.jsonl", "test_neutral.jsonl", "test_noop.jsonl", "train.jsonl"]


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_world_writes_the_policy_and_every_split(tmp_path):
    result = run("world", tmp_path / "w", "--train", 30, "--test", 7, "--seed", 4)
    assert result.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == ["base", *FILES]
    counts = [len((tmp_path / "w" / name).read_text().splitlines()) for name in FILES]
    assert counts == [7, 7, 7, 7, 30]
    assert (tmp_path / "w" / "base" / "model.safetensors").is_file()
    assert "train.jsonl" in result.stdout


def test_the_files_are_problem_files(tmp_path):
    run("world", tmp_path, "--train", 20, "--test", 5)
    for name in FILES:
        loaded = load_problems(str(tmp_path / name))
        assert len(loaded.problems) == (20 if name == "train.jsonl" else 5)
        assert not loaded.refused
        assert loaded.problems[0].extra["world"]["operations"]


def test_a_second_run_gives_the_same_bytes_and_leaves_no_scratch(tmp_path):
    run("world", tmp_path, "--train", 20, "--test", 5)
    (tmp_path / "base" / "stale.txt").write_text("from an earlier version")
    before = {name: (tmp_path / name).read_bytes() for name in FILES}
    run("world", tmp_path, "--train", 20, "--test", 5)
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == before
    assert not (tmp_path / "base" / "stale.txt").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", *FILES]


def test_a_file_in_place_of_the_folder_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "w").write_text("")
    with pytest.raises(ScapoError, match="is a file"):
        run("world", tmp_path / "w")


def test_pretraining_writes_a_checkpoint_and_prints_time_and_table(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "TOKENIZER_TEXTS", 300)
    monkeypatch.setattr(batches, "BATCHES_PER_SORT", 2)
    result = run("world-pretrain", tmp_path / "base", "--steps", 2, "--problems", 2)
    assert result.exit_code == 0
    assert json.loads((tmp_path / "base" / "config.json").read_text())["model_type"] == "qwen3"
    assert "minutes" in result.stdout
    assert "conflict" in result.stdout
    card = (tmp_path / "base" / "README.md").read_text()
    assert "`scapo world-pretrain OUT_DIR --steps 2 --problems 2`" in card
    assert "| conflict | " in card
