"""NoOp and ThinkBench variants: what is added, what is refused, reproducible, resumable with a model."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from scapo.errors import ScapoError
from scapo.evaluate.setting import Overrides, plan_sets
from scapo.evaluate.variants import noop_llm
from scapo.evaluate.variants.command import noop, thinkbench
from scapo.evaluate.variants.insertion import check_noop, insert, question_start
from scapo.evaluate.variants.noop import SENTENCES, noop_sentence
from scapo.evaluate.variants.noop_llm import noop_by_model
from scapo.evaluate.variants.thinkbench import thinkbench_rows
from scapo.perturb.llm.client import Reply
from scapo.perturb.llm.settings import LlmSettings
from scapo.perturb.spans import math_spans, number_spans
from scapo.problems import Problem, load_problems

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
APPLES = "Tom has 3 apples in a basket. He buys 4 more apples. How many apples does Tom have?"


def test_the_sentence_stands_before_the_question():
    assert insert(APPLES, "A farmer keeps 9 sheep.") == (
        "Tom has 3 apples in a basket. He buys 4 more apples. A farmer keeps 9 sheep. How many apples does Tom have?"
    )
    assert insert("Find $x$.", "A farmer keeps 9 sheep.") == "A farmer keeps 9 sheep. Find $x$."


@pytest.mark.parametrize(
    ("problem", "question"),
    [
        ("Mr. Smith runs. Where is Dr. Who?", "Where is Dr. Who?"),
        ("Let $f(x) = 1. A$ be odd. Find $f$.", "Find $f$."),
        ("It costs $1.50. How much is it?", "How much is it?"),
        ("One sentence only", "One sentence only"),
        ('He said "go." Then what?', "Then what?"),
    ],
)
def test_the_question_is_found_outside_math_and_abbreviations(problem, question):
    assert problem[question_start(problem) :] == question


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("A farmer keeps 9 sheep.", None),
        ("A farmer keeps nine sheep.", None),
        ("A farmer keeps sheep.", "number_count"),
        ("A farmer keeps 9 sheep and 8 goats.", "number_count"),
        ("A farmer keeps 4 sheep.", "known_number"),
        ("A farmer keeps four sheep.", "known_number"),
        ("A farmer keeps 7 sheep.", "answer_leaked"),
        ("A farmer keeps $9$ sheep.", "new_math"),
        ("If he eats 9 of them, he is full.", "forbidden_word"),
        ("He has 9 more sheep.", "forbidden_word"),
        ("A farmer keeps 9 sheep. He is old.", "not_one_sentence"),
        ("A farmer keeps 9 sheep", "not_one_sentence"),
        ("", "unchanged"),
    ],
)
def test_what_may_be_added(sentence, code):
    refusal = check_noop(APPLES, sentence, "7")
    assert (refusal and refusal.code) == code


def test_a_rule_sentence_is_unrelated_reproducible_and_changes_with_the_seed():
    found = noop_sentence(APPLES, "7", 0)
    assert found == noop_sentence(APPLES, "7", 0)
    assert len({noop_sentence(APPLES, "7", seed) for seed in range(10)}) > 3
    assert noop_sentence("求 $x$ 的值。", "7", 0) is None
    every = " ".join(SENTENCES).replace("{n}", "several")
    assert noop_sentence(f"There are the words {every} How many are there?", "7", 0) is None


@needs_shared
@pytest.mark.parametrize("year", [2024, 2025, 2026])
def test_every_aime_problem_gets_its_variants(year):
    problems = load_problems(SHARED / f"aime_{year}.jsonl").problems
    for problem in problems:
        sentence = noop_sentence(problem.problem, problem.answer, 0)
        text = insert(problem.problem, sentence)
        assert text.replace(f"{sentence} ", "", 1) == problem.problem
        assert math_spans(text) == math_spans(problem.problem)
        assert len(number_spans(text)) == len(number_spans(problem.problem)) + 1
        rows = thinkbench_rows(problem, 0)
        assert len({row["problem"] for row in rows} | {problem.problem}) == 5
        assert {row["answer"] for row in rows} == {problem.answer}


def test_stored_rewrites_come_first_and_bad_ones_are_not_trusted():
    good = "Tom has 3 apples in a basket. He buys 4 more apples. How many apples does Tom have? [tag: mx93q]"
    extra = {
        "perturbations": {"irrelevant_context": good, "paraphrase": "Tom has 5 apples. How many?"},
        "provenance": {"irrelevant_context": {"generator": "llm", "model": "m"}},
    }
    rows = thinkbench_rows(Problem("p", APPLES, "7", extra), 0)
    assert len(rows) == 4
    assert {"generator": "llm", "model": "m"} in [row["provenance"] for row in rows]
    assert good in [row["problem"] for row in rows]
    assert "Tom has 5 apples. How many?" not in [row["problem"] for row in rows]
    assert [row["id"] for row in rows] == ["p-v1", "p-v2", "p-v3", "p-v4"]


app = typer.Typer()
app.command()(noop)
app.command()(thinkbench)


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@needs_shared
def test_the_files_are_suites_of_the_evaluation(tmp_path):
    source = SHARED / "aime_2024.jsonl"
    assert "30 of 30 variants" in invoke("noop", source, "-o", tmp_path / "noop_aime_2024.jsonl").output
    invoke("thinkbench", source, "-o", tmp_path / "thinkbench_aime_2024.jsonl")
    plans = plan_sets(["noop_aime_2024", "thinkbench_aime_2024"], [str(tmp_path)], Overrides())
    assert [(len(plan.items), plan.samples, plan.notes) for plan in plans] == [(30, 16, ()), (120, 4, ())]


def test_problems_without_a_variant_are_named(tmp_path):
    rows = [
        {"id": "en", "problem": APPLES, "answer": "7"},
        {"id": "zh", "problem": "求 $x$ 的值。", "answer": "1"},
    ]
    source = tmp_path / "mixed.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    printed = invoke("noop", source, "-o", tmp_path / "out.jsonl").output
    assert "1 of 2 variants" in printed
    assert "zh" in printed


def test_an_unknown_generator_is_a_sentence(tmp_path, problem_file):
    with pytest.raises(ScapoError, match="--generator x is unknown"):
        invoke("noop", problem_file, "-o", tmp_path / "out.jsonl", "--generator", "x")


class StubEndpoint:
    """Answers from a script; counts what was asked."""

    format = "text"
    asked: list[str] = []  # noqa: RUF012 (reset by the fixture)
    script = None

    def __init__(self, settings, key):
        pass

    async def complete(self, messages, wanted=(), *, model, max_tokens, seed):
        StubEndpoint.asked.append(messages[-1]["content"])
        return Reply(StubEndpoint.script(messages[-1]["content"]), "stop", 1, 1)

    async def close(self):
        pass


@pytest.fixture
def endpoint(monkeypatch):
    StubEndpoint.asked = []
    monkeypatch.setattr(noop_llm, "Endpoint", StubEndpoint)
    return StubEndpoint


def by_model(problems, path):
    return noop_by_model(problems, path, LlmSettings(model="m", concurrency=2), lambda: None)


def test_a_models_sentence_is_checked_judged_and_asked_for_once(tmp_path, endpoint):
    replies = iter(["He has 4 pears.", "Five of the apples are a bit small.", "SAME"])
    endpoint.script = lambda text: next(replies)
    problems = [Problem("p", APPLES, "7")]
    assert by_model(problems, tmp_path / "journal") == [("Five of the apples are a bit small.", None)]
    assert "was refused: known_number" in endpoint.asked[1]
    assert "Five of the apples are a bit small. How many" in endpoint.asked[2]
    assert by_model(problems, tmp_path / "journal") == [("Five of the apples are a bit small.", None)]
    assert len(endpoint.asked) == 3


def test_a_sentence_that_may_change_the_answer_is_not_used(tmp_path, endpoint):
    endpoint.script = lambda text: (
        "Five of the apples are rotten." if text.startswith("Here is") else "DIFFERENT"
    )
    ((sentence, reason),) = by_model([Problem("p", APPLES, "7")], tmp_path / "journal")
    assert sentence is None
    assert reason.startswith("judge_different")
