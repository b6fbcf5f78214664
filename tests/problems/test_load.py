"""Loading problems: every source, every layout, each problem once, every refusal with a reason."""

import csv
import json

import pytest

from scapo.errors import ScapoError
from scapo.problems import Problem, load_problems
from scapo.problems.cells import BadCell, answer_text, problem_text

ROWS = [
    {"id": "a", "problem": "What is $1+1$?", "answer": "2", "level": "1"},
    {"id": "b", "problem": "Was ist größer, \u2028x oder y?", "answer": "x", "level": "2"},
]


def jsonl(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv"])
def test_the_same_rows_from_every_format(tmp_path, kind):
    path = tmp_path / f"set.{kind}"
    if kind == "jsonl":
        jsonl(path, ROWS)
    elif kind == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ROWS[0])
            writer.writeheader()
            writer.writerows(ROWS)
    else:
        import pyarrow as arrow
        from pyarrow import parquet

        parquet.write_table(arrow.Table.from_pylist(ROWS), path)
    loaded = load_problems(path)
    assert loaded.problems == [
        Problem(r["id"], r["problem"], r["answer"], {"level": r["level"]}) for r in ROWS
    ]
    assert loaded.counts["rows"] == loaded.counts["kept"] == 2
    assert [problem.to_row() for problem in loaded.problems] == ROWS


def test_a_mapping_names_the_columns(tmp_path):
    path = jsonl(tmp_path / "set.jsonl", [{"q": "Why?", "gold": {"final": 7}, "key": 3}])
    loaded = load_problems(path, columns={"problem": "q", "answer": "gold.final", "id": "key"})
    assert loaded.problems == [Problem("3", "Why?", "7", {"gold": {"final": 7}})]


@pytest.mark.parametrize(
    ("columns", "named"),
    [(None, "'answer'"), ({"answer": "gold"}, "'gold'"), ({"problem": "text"}, "'text'")],
)
def test_a_missing_column_is_named_with_those_found(tmp_path, columns, named):
    path = jsonl(tmp_path / "set.jsonl", [{"problem": "Why?", "label": "7"}])
    with pytest.raises(ScapoError) as error:
        load_problems(path, columns=columns)
    assert named in str(error.value)
    assert "problem, label" in str(error.value)
    assert "set.jsonl" in str(error.value)


def test_the_mapping_itself_is_checked(tmp_path):
    with pytest.raises(ScapoError, match="question"):
        load_problems(jsonl(tmp_path / "set.jsonl", ROWS), columns={"question": "problem"})


def test_ids_are_made_from_the_text_and_stay_the_same(tmp_path):
    first = load_problems(jsonl(tmp_path / "a.jsonl", [{"problem": "Why?", "answer": "7"}])).problems[0].id
    rows = [{"problem": "How?", "answer": "7"}, {"problem": "Why?", "answer": "7"}]
    assert load_problems(jsonl(tmp_path / "b.jsonl", rows)).problems[1].id == first


def test_repeated_ids_of_different_problems_are_told_apart(tmp_path):
    rows = [{"id": "1", "problem": f"What is {n}?", "answer": "7"} for n in range(3)]
    assert [p.id for p in load_problems(jsonl(tmp_path / "set.jsonl", rows)).problems] == ["1", "1#2", "1#3"]


DAPO = (
    "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
    "$Answer (without quotes) where $Answer is the answer to the problem.\n\n{}\n\nRemember to put your answer on its "
    'own line after "Answer:".'
)


def test_dapo_rows_are_unwrapped_and_each_problem_is_kept_once(tmp_path):
    """The raw set: chat lists, the gold in a nested column, every problem about a hundred times."""
    texts = ["Find $x$ in {1, 2}.", "Let $a\\frac{1}{2}$.\n\nFind $a$.", "找出 $x$。"]
    rows = [
        {
            "data_source": "math_dapo",
            "prompt": [{"role": "user", "content": DAPO.replace("{}", text)}],
            "reward_model": {"ground_truth": str(number), "style": "rule"},
            "extra_info": {"index": f"{copy}-{number}"},
        }
        for copy in range(100)
        for number, text in enumerate(texts)
    ]
    loaded = load_problems(jsonl(tmp_path / "dapo.jsonl", rows))
    assert [(p.problem, p.answer) for p in loaded.problems] == [
        (text, str(n)) for n, text in enumerate(texts)
    ]
    counts = {"rows": 300, "unwrapped": 300, "duplicates": 297, "refused": 0, "kept": 3}
    assert {name: loaded.counts[name] for name in counts} == counts


def test_the_processed_dapo_rows(shared):
    loaded = load_problems(shared / "data" / "dapo_processed_5_full_rows.jsonl")
    assert [problem.answer for problem in loaded.problems][:2] == ["34", "113"]
    wrapped = [problem.extra["source_prompt"] for problem in loaded.problems]
    assert [problem_text(messages) for messages in wrapped] == [(p.problem, True) for p in loaded.problems]


def test_a_prompt_that_still_asks_for_an_answer_line_is_refused(tmp_path):
    rows = [{"problem": 'Add 1. Put your answer on its own line after "Answer:".', "answer": "2"}]
    loaded = load_problems(jsonl(tmp_path / "set.jsonl", rows))
    assert not loaded.problems
    assert "Answer:" in loaded.refused[0].reason


def test_the_papers_own_instruction_is_taken_off():
    text = "Why?\n\nPlease reason step by step, and put your final answer within \\boxed{}."
    assert problem_text(text) == ("Why?", True)


def test_the_same_problem_with_another_answer_is_refused(tmp_path):
    rows = [
        {"problem": "What is $\\\\pi$?", "answer": "3"},
        {"problem": " what  is\n$\\pi$?", "answer": "3 "},
        {"problem": "What is $\\pi$?", "answer": "4"},
    ]
    loaded = load_problems(jsonl(tmp_path / "set.jsonl", rows))
    assert loaded.counts["duplicates"] == 1
    assert [refusal.row for refusal in loaded.refused] == [3]
    assert "'4', but row 1" in loaded.refused[0].reason
    assert len(load_problems(tmp_path / "set.jsonl", deduplicate=False).problems) == 3


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (27, "27"),
        (27.0, "27"),
        (0.5, "0.5"),
        ("025", "025"),
        (["$2$"], "$2$"),
        (["1", 3], "1, 3"),
        ("a\n#### 1,200 ", "1,200"),
    ],
)
def test_answers_become_texts(cell, text):
    assert answer_text(cell)[0] == text


@pytest.mark.parametrize("cell", [None, "", " ", [], float("nan"), True, {"value": 3}])
def test_what_is_no_answer_is_refused(cell):
    with pytest.raises(BadCell, match="answer"):
        answer_text(cell)


def test_rows_that_cannot_be_used_are_refused_and_counted(tmp_path):
    rows = [
        {"id": 1, "problem": "", "answer": "1"},
        {"id": 2, "problem": "Why?", "answer": None},
        {"id": 3, **ROWS[0]},
    ]
    loaded = load_problems(jsonl(tmp_path / "set.jsonl", rows))
    assert [(r.row, r.id, r.reason) for r in loaded.refused] == [
        (1, "1", "The problem is empty."),
        (2, "2", "The answer is empty."),
    ]
    assert (
        loaded.counts["rows"]
        == loaded.counts["duplicates"] + loaded.counts["refused"] + loaded.counts["kept"]
    )


def test_rows_with_half_a_surrogate_pair_are_refused_by_name_wherever_it_stands(tmp_path):
    good = ROWS[0] | {"id": "good", "note": "whole pairs such as \U0001f600 are fine"}
    bad = [
        {"id": "in the problem", "problem": "What is \ud800?", "answer": "1"},
        {"id": "in the answer", "problem": "B?", "answer": "\udfff"},
        {"id": "nested", "problem": "C?", "answer": "1", "perturbations": {"paraphrase": "C \ud83d?"}},
        {"id": "in the \ud800 id", "problem": "D?", "answer": "1"},
        {"id": "key", "problem": "E?", "answer": "1", "\udc00": None},
    ]
    path = tmp_path / "set.jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in [good, *bad])
    )  # escaped, as a file may hold them
    loaded = load_problems(path)
    assert [problem.extra["note"] for problem in loaded.problems] == [good["note"]]
    assert [(r.row, r.id) for r in loaded.refused] == [
        (2, "in the problem"), (3, "in the answer"), (4, "nested"), (5, "in the ? id"), (6, "key"),
    ]  # fmt: skip
    for refusal, column in zip(
        loaded.refused, ("problem", "answer", "perturbations", "id", "\\udc00"), strict=True
    ):
        assert f"The column {column} holds half a surrogate pair" in refusal.reason
        refusal.reason.encode()


def test_corrected_labels_replace_wrong_ones(tmp_path):
    rows = [
        {"problem": "A?", "answer": "320", "checked_answer": "319"},
        {"problem": "B?", "answer": "5", "checked_answer": None},
    ]
    loaded = load_problems(jsonl(tmp_path / "set.jsonl", rows))
    assert [problem.answer for problem in loaded.problems] == ["319", "5"]
    assert loaded.counts["corrected"] == 1


def test_perturbed_files_keep_their_rewrites(tmp_path):
    row = {
        **ROWS[0],
        "perturbations": {"typo_noise": "Waht?", "paraphrase": None},
        "provenance": {},
        "absent": {},
    }
    (problem,) = load_problems(jsonl(tmp_path / "set.jsonl", [row])).problems
    assert problem.perturbations == {"typo_noise": "Waht?"}
    assert problem.to_row() == row


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("set.jsonl", '{"problem": "x"', "line 1"),
        ("set.parquet", "no parquet", "Parquet"),
        ("set.csv", "problem,answer\nWhy?\n", "row 1"),
        ("set.txt", "x", "not a .jsonl, .parquet or .csv"),
    ],
)
def test_broken_files_are_named(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ScapoError, match=said) as error:
        load_problems(path)
    assert name in str(error.value)


def test_a_missing_file_is_named():
    with pytest.raises(ScapoError, match=r"nowhere\.jsonl is not a file"):
        load_problems("nowhere.jsonl")


def test_a_hub_set_without_network_is_a_sentence(monkeypatch):
    import datasets

    def offline(*_, **__):
        raise ConnectionError("Couldn't reach the hub\nlong traceback")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(ScapoError, match=r"nobody/nothing.*Couldn't reach the hub .*local"):
        load_problems("nobody/nothing")


def test_a_hub_set_with_configuration_and_split(monkeypatch):
    import datasets

    asked = []

    def load_dataset(name, config, *, split, revision):
        asked.append((name, config, split, revision))
        return datasets.Dataset.from_list([{"question": "Why?", "answer": "So.\n#### 42"}])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    loaded = load_problems("openai/gsm8k:main", split="test", revision="abc")
    assert asked == [("openai/gsm8k", "main", "test", "abc")]
    assert [(p.problem, p.answer) for p in loaded.problems] == [("Why?", "42")]
    assert loaded.counts["final_answers"] == 1


ROWS_OF = {
    "aime_2024": 30, "aime_2025": 30, "aime_2026": 30, "amc_2023": 40, "amc_2024": 44, "amc_2025": 42, "brumo_2025": 30,
    "dapo_math_sample": 108, "dapo_processed_5_full_rows": 5, "deepscaler_sub": 1209, "gsm8k_test": 1319,
    "gsm8k_train_sample": 1000, "gsm_plus_semifactual": 600, "gsm_symbolic_templates": 250, "hmmt_feb_2025": 30,
    "hmmt_feb_2026": 33, "math500": 500, "minerva_math": 272, "olympiadbench_oe_to_maths_en_comp": 675,
    "omni_math_rule": 2821, "scapo_paper_perturbation_examples": 3,
}  # fmt: skip
BAD_GOLDS = {
    "deepscaler_sub": 2,
    "minerva_math": 1,
    "olympiadbench_oe_to_maths_en_comp": 1,
    "omni_math_rule": 9,
}


@pytest.mark.parametrize("name", ROWS_OF)
def test_every_real_set_loads(shared, name):
    from scapo.reward import gold_problems

    columns = {"problem": "original"} if name.startswith("scapo_paper") else None
    loaded = load_problems(shared / "data" / f"{name}.jsonl", columns=columns, check=gold_problems)
    assert loaded.counts["rows"] == ROWS_OF[name]
    assert loaded.counts["refused"] == BAD_GOLDS.get(name, 0)
    assert (
        loaded.counts["kept"] == len(loaded.problems) >= 0.9 * ROWS_OF[name]
        or name == "gsm_symbolic_templates"
    )
    assert all(problem.problem and problem.answer and problem.id for problem in loaded.problems)


def test_no_real_set_is_left_out(shared):
    assert {path.stem for path in (shared / "data").glob("*.jsonl")} == set(ROWS_OF)
