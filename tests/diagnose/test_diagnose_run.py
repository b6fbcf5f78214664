"""A whole diagnosis on a tiny random model: exactness, resuming, case studies, and what goes wrong kindly."""

import json

import pytest
import torch
from tiny_lm import byte_level, problem_rows, save_model, write_problems
from typer import Typer
from typer.testing import CliRunner

from scapo.algorithm import augmented_advantage, group_stability, outcome_advantage, semifactual_correction
from scapo.diagnose.command import diagnose
from scapo.diagnose.panel import Scorer
from scapo.diagnose.run import Job, diagnose_panel
from scapo.diagnose.settings import Settings, claim, hashed, label_of, load_panel
from scapo.diagnose.sources import ModelSource
from scapo.errors import ScapoError
from scapo.files import output_lock, read_jsonl, write_json, write_jsonl
from scapo.problems import Problem
from scapo.sampling.local import LocalModel


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("tiny"), byte_level())


@pytest.fixture(scope="module")
def local(model):
    return LocalModel(str(model), device="cpu")


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    return write_problems(tmp_path_factory.mktemp("data") / "sums.jsonl", 6)


def run(local, model, problems, out, *, count=6, block=4, cases=1, **changes):
    settings = Settings(
        model=str(model),
        data=str(problems),
        data_sha256=str(hashed(problems)),
        max_tokens=12,
        group=3,
        **changes,
    )
    claim(out, settings)
    job = Job(
        panel=load_panel(problems, count), local=local, settings=settings, out=out, cases=cases, block=block
    )
    return diagnose_panel(job)


def without_moment(drift):
    return {key: value for key, value in drift.items() if key not in ("created", "command")}


def test_the_files_hold_what_docs_files_says(local, model, problems, tmp_path):
    drift = run(local, model, problems, tmp_path)
    assert json.loads((tmp_path / "drift.json").read_text()) == drift
    assert drift["kind"] == "diagnose"
    assert (drift["problems"], drift["responses"]) == (6, 6)
    assert drift["kinds"] == ["paraphrase", "typo_noise"]
    assert drift["mean"]["low"] < drift["mean"]["value"] < drift["mean"]["high"]
    assert sum(row["share"] for row in drift["classes"]) == pytest.approx(1)
    assert sum(drift["direction"].values()) == pytest.approx(1)
    assert 0 <= drift["noise_floor"] < 1e-4
    assert drift["versions"]["torch"]


def test_blocks_and_resuming_change_nothing(local, model, problems, tmp_path):
    whole = run(local, model, problems, tmp_path / "whole", block=6)
    run(local, model, problems, tmp_path / "parts", count=2, block=1)
    with (tmp_path / "parts" / "panel.jsonl").open("a") as file:
        file.write('{"problem_id": "sum-2", "samp')  # a kill while writing
    parts = run(local, model, problems, tmp_path / "parts", block=3)
    for drift in (whole, parts):
        drift.pop("noise_floor"), drift.pop("noise_tokens")  # other rows are scored twice in other blocks
    rows = [[row for _, row in read_jsonl(tmp_path / name / "panel.jsonl")] for name in ("whole", "parts")]
    for one, other in zip(*rows, strict=True):
        assert one["completion"] == other["completion"]
        assert one["sums"]["drift"] == pytest.approx(other["sums"]["drift"], rel=1e-4, abs=1e-6)
    assert whole["mean"]["value"] == pytest.approx(parts["mean"]["value"], rel=1e-4)


def test_a_finished_diagnosis_samples_nothing_again(local, model, problems, tmp_path, monkeypatch):
    first = run(local, model, problems, tmp_path)
    monkeypatch.setattr(ModelSource, "draw", None)
    assert without_moment(run(local, model, problems, tmp_path)) == without_moment(first)


def test_other_settings_do_not_mix_into_a_folder(local, model, problems, tmp_path):
    run(local, model, problems, tmp_path, cases=0)
    with pytest.raises(ScapoError, match="seed was 0 and is 1"):
        run(local, model, problems, tmp_path, cases=0, seed=1)


def test_an_identity_rewrite_drifts_by_exactly_0(local):
    text = "Add 2 and 3."
    problem = Problem("p", text, "5", {"perturbations": {"paraphrase": text, "typo_noise": "Add 2 adn 3."}})
    responses = ModelSource(local, 0, 12).draw([(problem, n) for n in range(5)])
    scored = Scorer(local, ["paraphrase", "typo_noise"]).score(responses)
    identity, typo = scored.result.drift
    assert identity[scored.result.mask].abs().max() == 0
    assert typo[scored.result.mask].mean() > 1e-3


def test_drift_equals_plain_forward_passes(local):
    problem = Problem("p", "Add 2 and 3.", "5", {"perturbations": {"typo_noise": "Add 2 adn 3."}})
    responses = ModelSource(local, 0, 12).draw([(problem, n) for n in range(3)])
    scorer = Scorer(local, ["typo_noise"])
    scored = scorer.score(responses)
    for n, response in enumerate(responses):
        row = scorer._row(response)
        for prompt, found in zip(
            (row.clean, row.perturbed[0]),
            (scored.logprobs_of(n)[0], scored.logprobs_of(n)[1][0]),
            strict=True,
        ):
            ids = torch.tensor([[*prompt, *response.ids]])
            with torch.no_grad():
                logits = local.model(ids).logits[0, len(prompt) - 1 : -1]
            expected = logits.log_softmax(-1)[torch.arange(len(response.ids)), response.ids]
            assert torch.allclose(found, expected, atol=1e-5)


def test_samples_depend_on_seed_problem_and_number_only(local):
    problems = [Problem(f"p{n}", f"Add {n} and 3.", "5") for n in range(3)]
    wanted = [(problem, sample) for problem in problems for sample in range(2)]
    source = ModelSource(local, 7, 10)
    together = [response.ids for response in source.draw(wanted)]
    alone = [source.draw([one])[0].ids for one in reversed(wanted)][::-1]
    assert together == alone
    assert len({tuple(ids) for ids in together}) == 6
    assert [r.ids for r in ModelSource(local, 8, 10).draw(wanted)] != together


def test_a_response_that_ended_carries_its_stop_token(local):
    responses = ModelSource(local, 0, 200).draw([(Problem("p", "Add 2 and 3.", "5"), n) for n in range(8)])
    for response in responses:
        assert (response.ids[-1] in local.stop_ids) != response.truncated
        assert not set(response.ids[:-1]) & local.stop_ids
    assert any(not response.truncated for response in responses)


def test_case_studies_are_whole_groups_with_the_papers_credit(local, model, problems, tmp_path):
    run(local, model, problems, tmp_path, cases=2)
    rows = [row for _, row in read_jsonl(tmp_path / "cases.jsonl")]
    assert len(rows) == 2
    for row in rows:
        group = row["responses"]
        assert len(group) == 3
        width = max(len(one["tokens"]) for one in group)
        mask = torch.tensor([[t < len(one["tokens"]) for t in range(width)] for one in group])
        drift = torch.zeros(2, 3, width)
        for n, one in enumerate(group):
            for k, kind in enumerate(row["perturbations"]):
                drift[k, n, : len(one["tokens"])] = torch.tensor(one["drift"][kind])
        ids = torch.zeros(3, dtype=torch.long)
        u = group_stability(drift, mask, ids)
        advantage = outcome_advantage(torch.tensor([one["reward"] for one in group]), ids)
        after = augmented_advantage(advantage, semifactual_correction(u, mask), row["lambda"])
        for n, one in enumerate(group):
            assert one["u"] == pytest.approx(u[n, mask[n]].tolist(), abs=1e-5)
            assert one["advantage"] == pytest.approx(float(advantage[n]))
            assert one["advantage_augmented"] == pytest.approx(after[n, mask[n]].tolist(), abs=1e-6)
            assert len(one["classes"]) == len(one["mean_drift"]) == len(one["tokens"])


def test_groups_with_right_and_wrong_answers_come_first(local, model, problems, tmp_path):
    rows = []
    for a in range(6):
        right = f"\\boxed{{{a + 3}}}"
        rows += [{"problem_id": f"sum-{a}", "completion": right, "truncated": False}]
        rows += [{"problem_id": f"sum-{a}", "completion": "no" if a == 4 else right, "truncated": False}]
    write_jsonl(tmp_path / "given.jsonl", rows)
    given = str(tmp_path / "given.jsonl")
    run(local, model, problems, tmp_path / "out", cases=2, responses=given)
    cases = [row for _, row in read_jsonl(tmp_path / "out" / "cases.jsonl")]
    assert [case["problem_id"] for case in cases] == ["sum-4", "sum-0"]
    assert [one["reason"] for one in cases[0]["responses"]] == ["correct", "no_box"]
    assert "".join(cases[0]["responses"][0]["tokens"]) == "\\boxed{7}<|im_end|>"


def test_given_responses_are_scored_instead_of_sampled(local, model, problems, tmp_path):
    first = run(local, model, problems, tmp_path / "first", cases=0)
    again = run(
        local, model, problems, tmp_path / "again", cases=0, responses=str(tmp_path / "first" / "panel.jsonl")
    )
    assert again["responses"] == first["responses"]
    assert again["tokens"] > 0


def test_problems_that_do_not_fit_the_model_are_left_out_and_counted(local, model, tmp_path):
    rows = problem_rows(3)
    rows[1]["perturbations"]["paraphrase"] = "and " * 300
    write_jsonl(tmp_path / "sums.jsonl", rows)
    drift = run(local, model, tmp_path / "sums.jsonl", tmp_path / "out", cases=0)
    assert drift["problems"] == 2
    assert drift["left_out"] == {"prompt too long": 1}


def test_a_missing_rewrite_is_left_out_of_the_mean(local, model, tmp_path):
    rows = problem_rows(3)
    del rows[0]["perturbations"]["typo_noise"]
    rows[1]["perturbations"] = {}
    write_jsonl(tmp_path / "sums.jsonl", rows)
    drift = run(local, model, tmp_path / "sums.jsonl", tmp_path / "out", cases=1)
    assert (drift["problems"], drift["left_out"]) == (2, {"no rewrite": 1})
    (case,) = [row for _, row in read_jsonl(tmp_path / "out" / "cases.jsonl")]
    assert set(case["responses"][0]["drift"]) == set(case["perturbations"])


def command_line(*arguments):
    app = Typer(pretty_exceptions_enable=False)
    app.command("diagnose")(diagnose)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_prints_the_table_and_the_facts(model, problems, tmp_path):
    out = tmp_path / "out"
    result = command_line(model, problems, "-o", out, "--max-tokens", 8, "--cases", 1, "--group", 2)
    assert result.exit_code == 0, result.output
    for words in ("drift by token class", "math symbol", "Mean drift", "Noise floor", "scapo report"):
        assert words in result.output
    assert {"drift.json", "panel.jsonl", "cases.jsonl"} <= {path.name for path in out.iterdir()}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "holds no problem"),
        ([{"id": "a", "problem": "Add 1 and 3.", "answer": "4"}], "scapo perturb"),
        ([{"id": "a", "problem": "", "answer": "4"}], "refused"),
    ],
)
def test_bad_problems_stop_before_a_model_loads(rows, words, tmp_path):
    write_jsonl(tmp_path / "sums.jsonl", rows)
    result = command_line("no such model", tmp_path / "sums.jsonl", "-o", tmp_path / "out")
    assert isinstance(result.exception, ScapoError)
    assert words in str(result.exception)
    assert str(tmp_path / "sums.jsonl") in str(result.exception)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "it is empty"),
        ([{"problem_id": "other", "completion": "x"}], "none of its 1 lines"),
        ([{"problem_id": "sum-0", "text": "x"}], "line 1: no text under completion"),
    ],
)
def test_bad_responses_are_named(rows, words, local, model, problems, tmp_path):
    write_jsonl(tmp_path / "given.jsonl", rows)
    with pytest.raises(ScapoError, match=words):
        run(local, model, problems, tmp_path / "out", responses=str(tmp_path / "given.jsonl"))


def test_a_model_without_chat_template_is_a_sentence(problems, tmp_path):
    tokenizer = byte_level()
    tokenizer.chat_template = None
    save_model(tmp_path / "model", tokenizer)
    result = command_line(tmp_path / "model", problems, "-o", tmp_path / "out")
    assert isinstance(result.exception, ScapoError)
    assert "no chat template" in str(result.exception)


def test_a_limit_that_leaves_no_room_is_a_sentence(local, model, problems, tmp_path):
    result = command_line(model, problems, "-o", tmp_path / "out", "--max-tokens", 250)
    assert isinstance(result.exception, ScapoError)
    assert "Lower --max-tokens" in str(result.exception)


def test_labels_come_from_the_training_run(tmp_path):
    write_json(tmp_path / "grpo" / "config.json", {"kind": "train", "label": "GRPO"})
    assert label_of(str(tmp_path / "grpo" / "model")) == "GRPO"
    assert label_of("Qwen/Qwen3-4B-Base") == "Qwen3-4B-Base"


def test_a_second_diagnosis_in_one_folder_is_refused(local, model, problems, tmp_path):
    with output_lock(tmp_path), pytest.raises(ScapoError, match="being written by another process"):
        run(local, model, problems, tmp_path)
