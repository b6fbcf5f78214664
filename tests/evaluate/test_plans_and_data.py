"""What --suite and --data mean, and loading of benchmarks: all before a model loads."""

import json
from pathlib import Path

import pytest

from scapo.errors import ScapoError
from scapo.evaluate.benchmarks import BENCHMARKS, SUITES
from scapo.evaluate.choose import choose_model, parse_args, parse_ks, training_label
from scapo.evaluate.data import load_benchmark
from scapo.evaluate.labels import CORRECTED, text_key
from scapo.evaluate.paper import FAMILIES, METHODS, PAPER
from scapo.evaluate.setting import Overrides, plan_sets

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows(count, **more):
    return [{"id": str(n), "problem": f"Problem number {n}?", "answer": str(n), **more} for n in range(count)]


def test_the_suites_hold_the_papers_benchmarks():
    assert (
        sum(BENCHMARKS[name].rows for name in SUITES["math"])
        == 30 * 3 + 127 + 63 + 30 + 53 + 2821 + 272 + 674
    )
    assert sum(BENCHMARKS[name].rows for name in SUITES["ood"]) == 90 + 360 + 198
    assert SUITES["paper"] == SUITES["math"] + SUITES["ood"]
    assert SUITES["world"] == ("agree", "conflict", "neutral", "noop")
    assert {BENCHMARKS[name].samples for name in SUITES["aime"] + SUITES["smt"]} == {16}
    assert BENCHMARKS["gpqa_diamond"].samples == 24
    assert BENCHMARKS["thinkbench_aime_2025"].samples == 4
    paper = [BENCHMARKS[name] for name in SUITES["paper"]]
    assert {(one.temperature, one.top_p, one.max_tokens) for one in paper} == {(0.7, 0.9, 16384)}


def test_the_papers_averages_are_the_mean_of_its_families():
    for table in PAPER.values():
        assert set(table) == set(FAMILIES)
        for column in range(len(METHODS)):
            families = [table[family][column] for family in FAMILIES[:8]]
            assert sum(families) / 8 == pytest.approx(table["in-distribution average"][column], abs=0.011)
            families = [table[family][column] for family in FAMILIES[9:12]]
            assert sum(families) / 3 == pytest.approx(table["out-of-distribution average"][column], abs=0.011)


def test_a_folder_of_local_copies_serves_every_name_it_holds(tmp_path):
    write(tmp_path / "aime_2024.jsonl", rows(30))
    write(tmp_path / "minerva_math.jsonl", rows(3))
    plans = plan_sets(["aime_2024,minerva"], [str(tmp_path)], Overrides())
    assert [(plan.name, len(plan.items), plan.samples) for plan in plans] == [
        ("aime_2024", 30, 16), ("minerva", 3, 1),
    ]  # fmt: skip
    assert plans[0].notes == ()
    assert "the paper's minerva has 272" in plans[1].notes[0]


def test_the_world_comes_from_its_folder_or_is_made_on_the_spot(tmp_path):
    for name in SUITES["world"]:
        write(tmp_path / f"test_{name}.jsonl", rows(5))
    plans = plan_sets(["world"], [f"world={tmp_path}"], Overrides())
    assert [(plan.name, len(plan.items)) for plan in plans] == [(name, 5) for name in SUITES["world"]]
    assert {(plan.temperature, plan.top_p, plan.samples) for plan in plans} == {(1.0, 1.0, 4)}
    made = plan_sets(["world"], [], Overrides(limit=3))
    assert [len(plan.items) for plan in made] == [3, 3, 3, 3]


def test_a_file_is_a_suite_of_its_own_name(tmp_path):
    plans = plan_sets([str(write(tmp_path / "mine.jsonl", rows(4)))], [], Overrides(samples=2, max_tokens=99))
    assert [(p.name, len(p.items), p.samples, p.max_tokens, p.temperature) for p in plans] == [
        ("mine", 4, 2, 99, 0.7)
    ]


def test_every_missing_set_is_named_at_once_and_can_be_skipped(tmp_path):
    write(tmp_path / "aime_2024.jsonl", rows(30))
    with pytest.raises(ScapoError) as error:
        plan_sets(["aime_2024", "noop-aime", "omni-math"], [str(tmp_path)], Overrides())
    for name in ("noop_aime_2024", "noop_aime_2025", "noop_aime_2026", "omni_math", "--skip-missing"):
        assert name in str(error.value)
    plans = plan_sets(["aime_2024", "omni-math"], [str(tmp_path)], Overrides(), skip_missing=True)
    assert [plan.name for plan in plans] == ["aime_2024"]
    assert "omni_math" in plans[0].notes[0]


@pytest.mark.parametrize(
    ("suites", "data", "match"),
    [
        (["nonsense"], [], "neither a suite"),
        ([], [], "Nothing to evaluate"),
        (["aime_2024"], ["aime_1999=x.jsonl"], "aime_1999 is no benchmark"),
        (["aime_2024"], ["missing-folder"], "not a folder"),
        (["aime_2024"], ["aime_2024=missing.jsonl"], r"missing\.jsonl is not a file"),
    ],
)
def test_wrong_suites_and_data_are_sentences(suites, data, match):
    with pytest.raises(ScapoError, match=match):
        plan_sets(suites, data, Overrides())


@pytest.mark.parametrize(
    "bad",
    [{"samples": 0}, {"temperature": -1}, {"top_p": 0}, {"top_p": 1.2}, {"max_tokens": 0}, {"limit": 0}],
)
def test_settings_out_of_range_are_sentences(bad):
    with pytest.raises(ScapoError, match=f"--{next(iter(bad)).replace('_', '-')} must be"):
        Overrides(**bad)


def test_bad_files_are_sentences(tmp_path):
    with pytest.raises(ScapoError, match="empty"):
        load_benchmark(BENCHMARKS["aime_2024"], write(tmp_path / "empty.jsonl", []))
    no_answer = write(tmp_path / "bad.jsonl", [{"problem": "x"}])
    with pytest.raises(ScapoError, match="answer"):
        load_benchmark(BENCHMARKS["aime_2024"], no_answer)
    with pytest.raises(ScapoError, match="three wrong options"):
        load_benchmark(BENCHMARKS["gpqa_diamond"], write(tmp_path / "choice.jsonl", rows(1)))
    with pytest.raises(ScapoError, match="error 'about' is no number"):
        load_benchmark(BENCHMARKS["olympiadbench"], write(tmp_path / "o.jsonl", rows(1, error="about")))


def test_a_file_with_each_problem_32_times_is_reduced_and_says_so(tmp_path):
    loaded = load_benchmark(BENCHMARKS["aime_2024"], write(tmp_path / "a.jsonl", rows(30) * 32))
    assert len(loaded.items) == 30
    assert "930 repetitions" in loaded.notes[0]


def test_columns_of_the_hub_sets_are_understood(tmp_path):
    hub_row = {
        "question": "q?",
        "final_answer": ["$1$", "$2$"],
        "is_multiple_answer": True,
        "unit": None,
        "error": None,
    }
    (item,) = load_benchmark(BENCHMARKS["olympiadbench"], write(tmp_path / "o.jsonl", [hub_row])).items
    assert item.grade(r"\boxed{2, 1}", 0).value == 1
    arena = {"problem_idx": 7, "problem": "q?", "answer": 70.0}
    (item,) = load_benchmark(BENCHMARKS["aime_2025"], write(tmp_path / "a.jsonl", [arena])).items
    assert (item.id, item.answer) == ("7", "70")
    amc = {"id": 0, "question": "q?", "answer": 27.0}
    (item,) = load_benchmark(BENCHMARKS["amc_2023"], write(tmp_path / "m.jsonl", [amc])).items
    assert (item.problem, item.answer) == ("q?", "27")


def test_the_digest_follows_problems_and_answers(tmp_path):
    one = load_benchmark(BENCHMARKS["aime_2024"], write(tmp_path / "a.jsonl", rows(3))).digest
    same = load_benchmark(BENCHMARKS["aime_2024"], write(tmp_path / "b.jsonl", rows(3))).digest
    changed = load_benchmark(
        BENCHMARKS["aime_2024"], write(tmp_path / "c.jsonl", [*rows(2), {**rows(3)[2], "answer": "9"}])
    )
    assert one == same != changed.digest


def test_checked_answers_win(tmp_path):
    path = write(tmp_path / "amc_2024.jsonl", rows(1, checked_answer="319"))
    assert load_benchmark(BENCHMARKS["amc_2024"], path).items[0].answer == "319"


@needs_shared
def test_wrong_labels_of_circulating_copies_are_corrected(tmp_path):
    corrected = 0
    for name in ("aime_2024", "amc_2024", "amc_2025"):
        source = [
            json.loads(line) for line in (SHARED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        bare = [{"problem": row["problem"].replace(" ", "  "), "answer": "384"} for row in source]
        for item in load_benchmark(BENCHMARKS[name], write(tmp_path / f"{name}.jsonl", bare)).items:
            corrected += item.answer != "384"
            assert (item.answer != "384") == (text_key(item.problem) in CORRECTED)
    assert corrected == len(CORRECTED)


@needs_shared
@pytest.mark.parametrize(
    "name",
    [*SUITES["aime"], *SUITES["amc"], *SUITES["hmmt"], *SUITES["brumo"]],
)
def test_every_gold_scores_itself(name):
    loaded = load_benchmark(BENCHMARKS[name], SHARED / f"{name}.jsonl")
    failed = [item.id for item in loaded.items if item.grade(f"So \\boxed{{{item.answer}}}.", 0).value != 1]
    assert failed == []


@needs_shared
@pytest.mark.parametrize(("name", "unreadable"), [("minerva", 1), ("olympiadbench", 1), ("omni_math", 9)])
def test_nearly_every_gold_of_the_large_sets_scores_itself_and_the_rest_is_named(name, unreadable):
    benchmark = BENCHMARKS[name]
    loaded = load_benchmark(benchmark, SHARED / f"{benchmark.files[0]}.jsonl")
    note = next(note for note in loaded.notes if "can't be verified" in note)
    assert f": {unreadable} golds can't be verified" in note
    failed = [
        item for item in loaded.items if item.grade(f"\\boxed{{{item.answer.strip('$')}}}", 0).value != 1
    ]
    assert len(failed) <= unreadable + 1  # one gold is a sentence that holds a box of its own


def test_a_gold_that_no_answer_can_match_is_noted(tmp_path):
    loaded = load_benchmark(
        BENCHMARKS["minerva"],
        write(tmp_path / "m.jsonl", [*rows(2), {"problem": "q?", "answer": "see figure"}]),
    )
    assert len(loaded.items) == 3
    assert "1 golds can't be verified" in loaded.notes[-1]
    assert loaded.items[2].grade("\\boxed{see figure}", 0).value == 0


def test_a_folder_is_a_local_model_with_its_training_runs_label(tmp_path):
    model = tmp_path / "run" / "model"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "run" / "config.json").write_text('{"kind": "train", "label": "SCAPO"}')
    chosen = choose_model(
        str(model), label=None, base_url=None, max_connections=None, local={"batch_size": 8}, args={}
    )
    assert (chosen.inspect_name, chosen.label, chosen.args) == (f"scapo/{model}", "SCAPO", {"batch_size": 8})
    before = chosen.fingerprint
    (model / "model.safetensors").write_bytes(b"weightz")
    again = choose_model(str(model), label="x", base_url=None, max_connections=None, local={}, args={})
    assert (again.label, again.fingerprint != before) == ("x", True)
    assert training_label(tmp_path) is None


def test_names_with_a_provider_go_to_inspect_and_the_rest_to_our_provider():
    options = {"label": None, "base_url": None, "max_connections": None, "args": {}}
    assert choose_model("vllm/Qwen/Qwen3-4B", local={}, **options).inspect_name == "vllm/Qwen/Qwen3-4B"
    assert choose_model("Qwen/Qwen3-4B", local={}, **options).inspect_name == "scapo/Qwen/Qwen3-4B"
    with pytest.raises(ScapoError, match="--batch-size is for local models"):
        choose_model("openai/gpt", local={"batch_size": 4}, **options)


def test_a_folder_without_a_model_is_a_sentence(tmp_path):
    with pytest.raises(ScapoError, match=r"no config\.json"):
        choose_model(str(tmp_path), label=None, base_url=None, max_connections=None, local={}, args={})


def test_pass_k_is_checked_before_anything_runs(tmp_path):
    plans = plan_sets([str(write(tmp_path / "mine.jsonl", rows(2)))], [], Overrides(samples=4))
    assert parse_ks("4,1,1", plans) == [1, 4]
    assert parse_ks(None, plans) is None
    with pytest.raises(ScapoError, match="pass@8 needs 8 samples of every problem and mine has 4"):
        parse_ks("1,8", plans)
    for bad in ("0", "x"):
        with pytest.raises(ScapoError):
            parse_ks(bad, plans)


def test_model_arguments_are_read_as_json_where_they_are():
    assert parse_args(["a=1", "b=true", "c=text", "d=x=y"]) == {"a": 1, "b": True, "c": "text", "d": "x=y"}
    with pytest.raises(ScapoError, match="NAME=VALUE"):
        parse_args(["a"])
