"""`scapo problems noop` and `thinkbench`: variants of whole problem files."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scapo.files import read_jsonl, write_jsonl
from scapo.perturb.spans import math_spans
from scapo.perturb.variants import noop_refusal, noop_rows, thinkbench_rows
from scapo.problems import Problem
from scapo.problems.command import app

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
TEXT = "Jen has 4 bags with 12 clips in each bag. She sells 6 clips. How many clips does Jen have left?"
CLAUSE = "A harbor in the far north shelters 37 fishing boats."


def run(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exception is None, result.output
    return result.stdout


def test_noop_puts_one_sentence_with_one_new_number_before_the_question():
    (row,) = noop_rows(Problem("jen", TEXT, "42", {"source": "x"}), 0)
    before, question = TEXT[: TEXT.index("How many")], "How many clips does Jen have left?"
    assert row["problem"].startswith(before)
    assert row["problem"].endswith(question)
    added = row["problem"][len(before) : -len(question)]
    assert len(re.findall(r"\d+", added)) == 1
    assert set(re.findall(r"\d+", added)).isdisjoint({"4", "12", "6", "42"})
    assert {k: row[k] for k in ("id", "source_id", "answer", "source")} == {
        "id": "jen-noop", "source_id": "jen", "answer": "42", "source": "x",
    }  # fmt: skip
    assert noop_rows(Problem("jen", TEXT, "42"), 0)[0]["problem"] == row["problem"]
    assert noop_rows(Problem("jen", TEXT, "42"), 1)[0]["problem"] != row["problem"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{CLAUSE} {TEXT}", None),
        (TEXT.replace("She", f"{CLAUSE} She"), None),
        (f"{CLAUSE} {TEXT}".replace("6 clips", "7 clips"), "original_changed"),
        (TEXT, "original_changed"),
        (f"{CLAUSE.replace('37', 'many')} {TEXT}", "not_one_number"),
        (f"{CLAUSE.replace('37', '12')} {TEXT}", "not_one_number"),
        (f"{CLAUSE.replace('boats', 'boats with two masts')} {TEXT}", "not_one_number"),
        (f"A shop has 37 clips. {TEXT}", "about_the_problem"),
        (f"A harbor has 37 boats where $x=y$. {TEXT}", "new_math"),
        (f"{CLAUSE.replace('37', '42')} {TEXT}", "answer_leaked"),
    ],
)
def test_what_noop_refuses(text, code):
    refusal = noop_refusal(TEXT, text, "42")
    assert (refusal.code if refusal else None) == code


def test_noop_leaves_pictures_and_lists_alone():
    figure = 'Find $x$. [asy] draw((0,0)--(1,1)); label("A. Find B", (0,0)); [/asy]'
    (row,) = noop_rows(Problem("f", f"In the triangle shown, $AB = 3$. {figure}", "9"), 0)
    assert row["problem"].endswith(figure)
    assert math_spans(row["problem"]) == math_spans(f"In the triangle shown, $AB = 3$. {figure}")


def test_thinkbench_takes_each_kind_once_and_rewrites_of_the_file_first():
    given = (
        "Jen has 4 bags with 12 clips in each bag. She sells 6 clips. Work out how many clips Jen has left."
    )
    rows = thinkbench_rows(Problem("jen", TEXT, "42", {"perturbations": {"paraphrase": given}}), 0)
    assert [row["variant"]["kind"] for row in rows] == [
        "paraphrase", "typo_noise", "scenario_wrap", "irrelevant_context",
    ]  # fmt: skip
    assert rows[0]["problem"] == given
    assert rows[0]["variant"] == {"kind": "paraphrase", "generator": "file"}
    assert len({row["id"] for row in rows}) == len({row["problem"] for row in rows}) == 4
    assert {row["source_id"] for row in rows} == {"jen"}
    assert all("perturbations" not in row for row in rows)


def test_thinkbench_fills_up_where_a_kind_gives_nothing():
    rows = thinkbench_rows(Problem("c", "设 $x=3$，求 $x+1$ 的值。", "4"), 0)  # only tags are safe here
    assert [row["id"] for row in rows] == [
        "c-irrelevant_context", *(f"c-irrelevant_context-{n}" for n in (2, 3, 4)),
    ]  # fmt: skip
    assert len({row["problem"] for row in rows}) == 4


def test_the_commands_write_files_and_name_what_is_left_out(tmp_path):
    source = tmp_path / "set.jsonl"
    write_jsonl(source, [
        {"id": "jen", "question": TEXT, "answer": "42"},
        {"id": "cn", "question": "设 $x=3$，求 $x+1$ 的值。", "answer": "4"},
    ])  # fmt: skip
    said = run("noop", source, "-o", tmp_path / "noop.jsonl", "--column", "problem=question")
    assert "1 rows from 1 problems" in said
    assert "no safe variant" in said
    run("thinkbench", source, "-o", tmp_path / "think.jsonl", "--column", "problem=question")
    assert [row["source_id"] for _, row in read_jsonl(tmp_path / "think.jsonl")] == ["jen"] * 4 + ["cn"] * 4


@pytest.mark.skipif(not SHARED.is_dir(), reason="no AIME files beside the checkout")
@pytest.mark.parametrize("year", [2024, 2025, 2026])
def test_aime_variants_are_what_the_suites_expect(year, tmp_path):
    from scapo.evaluate.benchmarks import BENCHMARKS
    from scapo.evaluate.data import load_benchmark

    source = SHARED / f"aime_{year}.jsonl"
    gold = {row["id"]: row["answer"] for _, row in read_jsonl(source)}
    for name in ("noop", "thinkbench"):
        out = tmp_path / f"{name}_aime_{year}.jsonl"
        run(name, source, "-o", out)
        loaded = load_benchmark(BENCHMARKS[f"{name}_aime_{year}"], out)
        assert loaded.notes == []  # no row refused, none left out, as many as the paper has
        assert len(loaded.items) == BENCHMARKS[f"{name}_aime_{year}"].rows
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert all(row["answer"] == str(gold[row["source_id"]]) for row in rows)
