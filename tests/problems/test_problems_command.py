"""`scapo problems check` and `scapo problems overlap`."""

import json

from typer.testing import CliRunner

from scapo.problems.command import app


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False, env={"COLUMNS": "200"})


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_check_lists_counts_refusals_and_golds_that_only_match_as_written(tmp_path):
    rows = [
        {"id": "good", "q": "Why?", "answer": "7"},
        {"id": "again", "q": "why?", "answer": "7"},
        {"id": "bad [b]", "q": "How?", "answer": "see figure"},
        {"id": "literal", "q": "Who?", "answer": r"\max A + \frac{1}{2}"},
    ]
    result = run("check", write(tmp_path / "set.jsonl", rows), "--column", "problem=q")
    assert result.exit_code == 1
    assert "bad [b]" in result.stdout
    assert "phrase" in result.stdout
    assert "literal" in result.stdout
    assert "duplicates" in result.stdout
    assert result.stdout.splitlines()[-1] == "2 of 4 rows can be used"


def test_check_of_a_clean_file_succeeds(tmp_path):
    result = run("check", write(tmp_path / "set.jsonl", [{"problem": "Why?", "answer": "7"}]))
    assert result.exit_code == 0
    assert "Refused" not in result.stdout


def test_check_shortens_long_lists(tmp_path):
    rows = [{"id": f"id{n}", "problem": f"Why {n}?", "answer": ""} for n in range(30)]
    path = write(tmp_path / "set.jsonl", rows)
    assert "and 10 more" in run("check", path).stdout
    assert "id29" in run("check", path, "--all").stdout


def test_overlap_reports_and_writes_hits(tmp_path):
    train = write(tmp_path / "train.jsonl", [{"id": "t", "problem": "What is 2+3?", "answer": "5"}])
    first = write(tmp_path / "first.jsonl", [{"id": "a", "problem": "what is 2+3", "answer": "5"}])
    second = write(tmp_path / "second.jsonl", [{"id": "b", "problem": "What is 7+7?", "answer": "14"}])
    result = run("overlap", train, first, second, "-o", tmp_path / "hits.jsonl")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "1 of 2 evaluation problems overlap with the training set"
    (hit,) = [json.loads(line) for line in (tmp_path / "hits.jsonl").open()]
    assert (hit["evaluation_id"], hit["train_id"], hit["exact"]) == ("a", "t", True)
