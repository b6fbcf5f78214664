"""The run: what goes in comes out, in order, once per row; the rule path from file to file."""

import json
from collections import Counter

import pytest
import typer
from typer.testing import CliRunner

from scapo.errors import ScapoError
from scapo.files import output_lock, read_jsonl, write_jsonl
from scapo.perturb import run
from scapo.perturb.command import parse_kinds, perturb
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.problems import Problem
from scapo.problems.columns import parse_columns

PROBLEMS = [
    Problem("a", "Tom has 3 apples and buys 4 more at the market. How many apples does he have now?", "7"),
    Problem("b", "若 $x+1=3$，求 $x$ 的值。", "2", {"lang": "zh"}),
    Problem("c", "$x^2$", "4"),
    Problem("a2", "Tom has 3 apples and buys 4 more at the market. How many apples does he have now?", "7"),
]


def _rows(path):
    return [row for _, row in read_jsonl(path)]


def test_rows_come_out_in_order_with_every_kind_made_or_explained(tmp_path):
    out = tmp_path / "out.jsonl"
    summary = run.run_rules(PROBLEMS, out, kinds=list(Kind), seed=0)
    rows = _rows(out)
    assert [row["id"] for row in rows] == ["a", "b", "c", "a2"]
    assert rows[1]["lang"] == "zh"
    for row in rows:
        assert set(row["perturbations"]) | set(row["absent"]) == set(Kind)
        assert not set(row["perturbations"]) & set(row["absent"])
        assert set(row["provenance"]) == set(row["perturbations"])
        for entry in row["absent"].values():
            assert entry["status"] in ("none", "refused")
            assert ": " in entry["reason"]
    assert rows[0]["perturbations"]["typo_noise"] != PROBLEMS[0].problem
    assert rows[0]["perturbations"] == rows[3]["perturbations"]
    assert all(counts.total() == summary.rows == 4 for counts in summary.by_kind.values())


def test_a_text_that_the_checks_refuse_is_kept_apart_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "perturb_by_rule", lambda kind, problem, answer, seed: problem.replace("3", "5"))
    out = tmp_path / "out.jsonl"
    summary = run.run_rules(PROBLEMS[:1], out, kinds=[Kind.PARAPHRASE], seed=0)
    (row,) = _rows(out)
    assert row["perturbations"] == {}
    assert row["provenance"] == {}
    assert row["absent"]["paraphrase"]["status"] == "refused"
    assert "5 apples" in row["absent"]["paraphrase"]["text"]
    assert summary.by_kind == {Kind.PARAPHRASE: Counter(refused=1)}


def test_two_runs_write_the_same_bytes_and_another_seed_other_bytes(tmp_path):
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        run.run_rules(PROBLEMS, tmp_path / name, kinds=list(SEMIFACTUAL), seed=seed)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()
    assert (tmp_path / "one").read_bytes() != (tmp_path / "other").read_bytes()


def test_a_stopped_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    out = tmp_path / "out.jsonl"
    real, made = run.perturb_by_rule, []

    def counted(kind, problem, answer, seed):
        made.append(problem)
        if len(made) == 3:
            raise KeyboardInterrupt
        return real(kind, problem, answer, seed)

    monkeypatch.setattr(run, "perturb_by_rule", counted)
    with pytest.raises(KeyboardInterrupt):
        run.run_rules(PROBLEMS, out, kinds=[Kind.TYPO_NOISE], seed=0)
    assert not out.exists()
    run.run_rules(PROBLEMS, out, kinds=[Kind.TYPO_NOISE], seed=0)
    assert len(made) == 4  # three in the first run, one left for the second; the duplicate needs none
    assert len(_rows(out)) == 4


def test_a_torn_journal_is_mended(tmp_path, monkeypatch):
    out = tmp_path / "out.jsonl"
    monkeypatch.setattr(run, "write_output", _killed)
    with pytest.raises(KeyboardInterrupt):
        run.run_rules(PROBLEMS, out, kinds=[Kind.TYPO_NOISE], seed=0)
    monkeypatch.undo()
    journal = run.rules_journal_path(out)
    journal.write_bytes(journal.read_bytes()[:-9])
    run.run_rules(PROBLEMS, out, kinds=[Kind.TYPO_NOISE], seed=0)
    run.run_rules(PROBLEMS, tmp_path / "fresh.jsonl", kinds=[Kind.TYPO_NOISE], seed=0)
    assert out.read_bytes() == (tmp_path / "fresh.jsonl").read_bytes()
    assert not journal.exists()


def _killed(*_):
    raise KeyboardInterrupt


def test_an_output_in_use_is_refused(tmp_path):
    out = tmp_path / "out.jsonl"
    with output_lock(out), pytest.raises(ScapoError, match="another process"):
        run.run_rules(PROBLEMS, out, kinds=[Kind.TYPO_NOISE], seed=0)


@pytest.fixture
def cli():
    app = typer.Typer()
    app.command()(perturb)
    return lambda *args: CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": "160"})


def test_the_command_maps_columns_limits_and_prints_the_table(tmp_path, cli):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    write_jsonl(
        source, [{"question": PROBLEMS[0].problem, "answer": "7"}, {"question": "Find $y$.", "answer": "1"}]
    )
    done = cli(source, "-o", out, "--column", "problem=question", "--limit", 1, "--kinds", "typo_noise")
    assert done.exit_code == 0, done.output
    (row,) = _rows(out)
    assert row["problem"] == PROBLEMS[0].problem
    assert "typo_noise" in done.output
    assert "1 problems" in done.output or "1 problem" in done.output


def test_rows_that_no_file_can_hold_are_left_out_with_a_sentence(tmp_path, cli):
    source, out = tmp_path / "in.jsonl", tmp_path / "out[b].jsonl"
    source.write_text(
        '{"problem": "Find \\ud800 $3+4$.", "answer": "7"}\n{"problem": "Find $3+4$.", "answer": "7"}\n'
    )
    done = cli(source, "-o", out, "--kinds", "typo_noise")
    assert done.exit_code == 0, done.output
    assert "1 rows left out" in done.output
    assert "surrogate" in done.output
    assert "out[b].jsonl" in done.output  # square brackets are no markup
    assert [row["problem"] for row in _rows(out)] == ["Find $3+4$."]


def test_kinds_and_columns_are_read_or_refused_with_a_sentence():
    assert parse_kinds(None) == list(SEMIFACTUAL)
    assert parse_kinds(["typo_noise,paraphrase"]) == [Kind.PARAPHRASE, Kind.TYPO_NOISE]
    assert parse_kinds(["all"]) == list(Kind)
    with pytest.raises(ScapoError, match="poem is unknown"):
        parse_kinds(["poem"])
    assert parse_columns(["problem=question"]) == {"problem": "question"}
    with pytest.raises(ScapoError, match="not a pair"):
        parse_columns(["problem"])


def test_output_rows_are_utf8_json_lines(tmp_path):
    out = tmp_path / "out.jsonl"
    run.run_rules(PROBLEMS, out, kinds=[Kind.TYPO_NOISE], seed=0)
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b", "c", "a2"]
