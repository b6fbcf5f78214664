"""`scapo verify`: a table, the disagreements, and one last line."""

import json

import pytest
import typer
from typer.testing import CliRunner

from scapo.errors import ScapoError
from scapo.reward.command import verify

app = typer.Typer()
app.command()(verify)
app.command("other")(lambda: None)


def run(path, *options):
    return CliRunner().invoke(app, ["verify", str(path), *options], catch_exceptions=False)


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_given_cases(shared):
    result = run(shared / "cases" / "answer_verification.jsonl")
    assert result.stdout.splitlines()[-1] == "43 of 43 as expected"
    assert result.exit_code == 0


def test_disagreements_are_shown_and_fail(tmp_path):
    rows = [
        {"id": "right", "gold": "7", "completion": r"\boxed{7}", "expected": 1},
        {"id": "odd [red]", "gold": "7", "completion": r"\boxed{8}", "expected": 1},
        {"id": "why", "gold": "7", "completion": "7", "expected": "no_box"},
        {"id": "policy", "gold": "7", "completion": "7", "expected": None},
        {"gold": "7", "completion": "\\boxed{\x00\u202e8}"},
    ]
    result = run(write(tmp_path / "cases.jsonl", rows))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "2 of 3 as expected"
    assert "odd [red]" in result.stdout
    assert "wrong" in result.stdout


def test_long_files_list_only_disagreements(tmp_path):
    rows = [
        {"id": f"id{n}", "gold": "7", "completion": r"\boxed{7}", "expected": n != 77} for n in range(300)
    ]
    result = run(write(tmp_path / "cases.jsonl", rows))
    assert "id77" in result.stdout
    assert "id78" not in result.stdout
    assert "299 rows" in result.stdout
    assert "id78" in run(tmp_path / "cases.jsonl", "--all").stdout


def test_a_missing_column_is_named(tmp_path):
    path = write(tmp_path / "cases.jsonl", [{"gold": "7", "answer": "7"}])
    with pytest.raises(ScapoError, match=r"line 1 has no 'completion'. It has: gold, answer"):
        run(path)


def test_an_empty_file_has_nothing_to_say(tmp_path):
    assert run(write(tmp_path / "cases.jsonl", [])).stdout.splitlines()[-1] == "0 of 0 as expected"
