"""Whole evaluations through Inspect with a scripted provider: schema, seeds, resume, truncation, refusals."""

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from scapo.errors import ScapoError
from scapo.evaluate.compare import compare_runs
from scapo.evaluate.inspect_run import ModelChoice, missing_key
from scapo.evaluate.run import evaluate
from scapo.evaluate.setting import Overrides, plan_sets
from scapo.evaluate.store import SampleStore
from scapo.files import output_lock
from scapo.sampling.noise import sample_seed

MODEL = ModelChoice(name="scripted/m", inspect_name="scripted/m", label="m")


def run(out, problem_file, *, seed=0, model=MODEL, **overrides):
    plans = plan_sets([str(problem_file)], [], Overrides(**{"samples": 4, **overrides}))
    return evaluate(model, plans, out, seed=seed, command="test")


def rows_of(out):
    return [json.loads(line) for line in (out / "samples.jsonl").read_text(encoding="utf-8").splitlines()]


def test_results_state_everything_needed_to_read_them(tmp_path, problem_file, scripted):
    results = run(tmp_path / "out", problem_file, temperature=0.7, top_p=0.9, max_tokens=64)
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == results
    assert results["kind"] == "evaluate"
    assert (results["model"], results["label"], results["seed"]) == ("scripted/m", "m", 0)
    assert results["sampling"] == {"samples": 4, "temperature": 0.7, "top_p": 0.9, "max_tokens": 64}
    assert results["engine"]["provider"] == "scripted"
    assert {"torch", "transformers", "inspect-ai", "math-verify"} <= set(results["versions"])
    one = results["suites"]["sums"]
    assert (one["problems"], one["samples"], one["responses"]) == (3, 4, 12)
    assert one["accuracy"] == pytest.approx(1 / 3)  # every answer is 5; only p0's is right
    assert one["stderr"] == pytest.approx(1 / 3)  # sd(1, 0, 0) / sqrt(3)
    assert one["reasons"] == {"wrong": 8, "correct": 4}
    assert one["pass_at_k"]["4"]["value"] == pytest.approx(1 / 3)
    assert one["truncation_rate"] == 0
    assert one["digest"]
    assert (one["available"], one["notes"]) == (3, [])


def test_every_sample_is_kept_with_its_raw_output(tmp_path, problem_file, scripted):
    run(tmp_path / "out", problem_file)
    rows = rows_of(tmp_path / "out")
    assert len(rows) == 12
    assert {(row["problem_id"], row["sample"]) for row in rows} == {
        (f"p{p}", n) for p in range(3) for n in range(4)
    }
    first = next(row for row in rows if row["problem_id"] == "p0")
    assert (first["completion"], first["score"], first["reason"], first["extracted"]) == (
        "\\boxed{5}", 1.0, "correct", "5",
    )  # fmt: skip
    assert first["answer"] == "5"
    assert first["tokens"] == len("\\boxed{5}")


def test_the_seed_reaches_the_sampler_distinct_and_recorded(tmp_path, problem_file, scripted):
    run(tmp_path / "a", problem_file, seed=5)
    asked = {(call["prompt"], call["seed"]) for call in scripted.calls}
    assert len(asked) == 12
    rows = rows_of(tmp_path / "a")
    assert sorted(seed for _, seed in asked) == sorted(row["seed"] for row in rows)
    assert all(row["seed"] == sample_seed(5, "sums", row["problem_id"], row["sample"]) for row in rows)


def test_the_sampling_reaches_the_provider(tmp_path, problem_file, scripted):
    run(tmp_path / "out", problem_file, temperature=0.3, top_p=0.8, max_tokens=77)
    assert all((c["temperature"], c["top_p"], c["max_tokens"]) == (0.3, 0.8, 77) for c in scripted.calls)
    assert scripted.calls[0]["prompt"].endswith("put your final answer within \\boxed{}.")


def test_a_base_model_that_ends_with_its_end_token_is_graded(tmp_path, problem_file, scripted):
    scripted.reply = lambda prompt, seed: ("The sum is \\boxed{7}", "stop")
    one = run(tmp_path / "out", problem_file)["suites"]["sums"]
    assert one["accuracy"] == pytest.approx(1 / 3)


def test_truncation_is_counted_and_warned_about(tmp_path, problem_file, scripted):
    scripted.reply = lambda prompt, seed: ("2 + 3 is", "max_tokens" if seed % 2 else "stop")
    results = run(tmp_path / "out", problem_file, max_tokens=16)
    assert results["suites"]["sums"]["truncation_rate"] == 0.5
    (warning,) = results["warnings"]
    assert "were cut at --max-tokens or the model's context: sums 50%." in warning
    assert results["suites"]["sums"]["reasons"] == {"no_box": 12}


def test_finished_samples_are_never_asked_again(tmp_path, problem_file, scripted):
    out = tmp_path / "out"
    results = run(out, problem_file)
    lines = (out / "samples.jsonl").read_text().splitlines()
    (out / "samples.jsonl").write_text(
        "\n".join(lines[:7]) + "\n" + lines[7][:20]
    )  # killed while writing line 8
    (out / "results.json").unlink()
    done = {(row["problem_id"], row["sample"]) for row in map(json.loads, lines[:7])}
    scripted.calls.clear()
    again = run(out, problem_file)
    assert len(scripted.calls) == 5
    assert {(row["problem_id"], row["sample"]) for row in rows_of(out)[7:]}.isdisjoint(done)
    assert again["suites"] == results["suites"]


def test_a_finished_run_is_read_back_without_a_model(tmp_path, problem_file, scripted):
    results = run(tmp_path / "out", problem_file)
    scripted.calls.clear()
    assert run(tmp_path / "out", problem_file)["suites"] == results["suites"]
    assert scripted.calls == []


def test_more_samples_later_keep_the_first_ones(tmp_path, problem_file, scripted):
    run(tmp_path / "out", problem_file, samples=2)
    scripted.calls.clear()
    results = run(tmp_path / "out", problem_file, samples=4)
    assert len(scripted.calls) == 6
    assert results["suites"]["sums"]["responses"] == 12
    with pytest.raises(ScapoError, match=r"different: sums \(samples\)"):
        run(tmp_path / "out", problem_file, samples=1)


@pytest.mark.parametrize(("change", "named"), [({"seed": 1}, "seed"), ({"temperature": 0.1}, "temperature")])
def test_another_setting_in_the_same_folder_is_refused(tmp_path, problem_file, scripted, change, named):
    run(tmp_path / "out", problem_file)
    with pytest.raises(ScapoError, match=named):
        run(tmp_path / "out", problem_file, **change)


def test_another_model_or_changed_problems_are_refused(tmp_path, problem_file, scripted):
    run(tmp_path / "out", problem_file)
    other = ModelChoice(name="scripted/other", inspect_name="scripted/other", label="m")
    with pytest.raises(ScapoError, match="different: model"):
        run(tmp_path / "out", problem_file, model=other)
    problem_file.write_text(problem_file.read_text().replace('"5"', '"6"'))
    with pytest.raises(ScapoError, match="digest"):
        run(tmp_path / "out", problem_file)


def test_failed_samples_are_named_and_asked_again_next_time(tmp_path, problem_file, scripted):
    def fail(prompt, seed):
        if "3 + 4" in prompt:
            raise RuntimeError("the engine is on fire")
        return "\\boxed{5}", "stop"

    scripted.reply = fail
    with pytest.raises(ScapoError, match=r"4 of 12 samples could not be finished.*the engine is on fire"):
        run(tmp_path / "out", problem_file)
    assert len(rows_of(tmp_path / "out")) == 8
    assert not (tmp_path / "out" / "results.json").exists()
    scripted.reply = lambda prompt, seed: ("\\boxed{7}", "stop")
    scripted.calls.clear()
    results = run(tmp_path / "out", problem_file)
    assert len(scripted.calls) == 4
    assert results["suites"]["sums"]["accuracy"] == pytest.approx(2 / 3)


def test_one_failed_problem_of_many_is_named_too(tmp_path, scripted):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"id": "{n}", "problem": "{n}?", "answer": "5"}}\n' for n in range(20)))

    def fail(prompt, seed):
        if prompt.startswith("7?"):
            raise RuntimeError("the engine is on fire")
        return "\\boxed{5}", "stop"

    scripted.reply = fail
    with pytest.raises(ScapoError, match=r"1 of 20 samples could not be finished.*the engine is on fire"):
        run(tmp_path / "out", path, samples=1)
    assert len(rows_of(tmp_path / "out")) == 19


def test_an_unknown_provider_is_a_sentence(tmp_path, problem_file):
    nobody = ModelChoice(name="nobody/m", inspect_name="nobody/m", label="m")
    with pytest.raises(ScapoError, match="Inspect can't use the model nobody/m"):
        run(tmp_path / "out", problem_file, model=nobody)


@pytest.mark.parametrize(
    ("name", "base_url", "environment", "key"),
    [
        ("openai-api/my-server/m", "http://x/v1", {}, "none"),
        ("openai-api/my-server/m", "http://x/v1", {"MY_SERVER_API_KEY": "k"}, None),
        ("openai/m", "http://x/v1", {}, "none"),
        ("openai/m", None, {}, None),
        ("vllm/m", "http://x/v1", {}, None),
    ],
)
def test_an_endpoint_of_ones_own_needs_no_key(name, base_url, environment, key):
    choice = ModelChoice(name=name, inspect_name=name, label="m", base_url=base_url)
    assert missing_key(choice, environment) == key


def test_an_openai_compatible_endpoint_gets_the_seed_and_tells_truncation(
    tmp_path, problem_file, monkeypatch
):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "perturb"))
    from scripted_endpoint import Answer, serving

    def script(body, count):
        finish = "length" if body["seed"] % 2 else "stop"
        message = {"role": "assistant", "content": "\\boxed{5}"}
        reply = {
            "id": "x", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 50, "total_tokens": 59},
        }  # fmt: skip
        return Answer(raw=json.dumps(reply).encode())

    with serving(script) as endpoint:
        name = "openai-api/local/m"
        model = ModelChoice(name=name, inspect_name=name, label="m", base_url=endpoint.url)
        one = run(tmp_path / "out", problem_file, model=model, samples=2)["suites"]["sums"]
    assert len({(body["messages"][0]["content"], body["seed"]) for body in endpoint.requests}) == 6
    assert {(body["temperature"], body["top_p"], body["max_tokens"]) for body in endpoint.requests} == {
        (0.7, 0.9, 4096)
    }
    assert one["truncation_rate"] == 0.5
    assert one["mean_tokens"] == 50


def test_hostile_text_is_only_text(tmp_path, problem_file, scripted):
    scripted.reply = lambda prompt, seed: (
        "\u2028\\boxed{\x00}\ud83d\ude00 [bold]\\boxed{" + "(" * 50_000,
        "stop",
    )
    results = run(tmp_path / "out", problem_file)
    assert results["suites"]["sums"]["accuracy"] == 0
    assert len(rows_of(tmp_path / "out")) == 12


def test_a_choice_is_asked_in_another_order_each_time(tmp_path, scripted):
    path = tmp_path / "gpqa.jsonl"
    row = {"Question": "Noble gas?", "Correct Answer": "argon", "Record ID": "r1"}
    path.write_text(json.dumps(row | {f"Incorrect Answer {n}": f"metal {n}" for n in (1, 2, 3)}) + "\n")
    plans = plan_sets(["gpqa_diamond"], [f"gpqa_diamond={path}"], Overrides())
    scripted.reply = lambda prompt, seed: (
        f"\\boxed{{{next(line[1] for line in prompt.splitlines() if 'argon' in line)}}}", "stop",
    )  # fmt: skip
    results = evaluate(MODEL, plans, tmp_path / "out", command="test")
    assert len({call["prompt"] for call in scripted.calls}) == 24
    assert results["suites"]["gpqa_diamond"]["accuracy"] == 1
    scripted.reply = lambda prompt, seed: ("\\boxed{A}", "stop")
    results = evaluate(MODEL, plans, tmp_path / "always A", command="test")
    assert results["suites"]["gpqa_diamond"]["accuracy"] == 0.25


def test_two_runs_compare_problem_by_problem(tmp_path, problem_file, scripted):
    run(tmp_path / "a", problem_file)
    scripted.reply = lambda prompt, seed: ("\\boxed{7}" if "3 + 4" in prompt else "\\boxed{5}", "stop")
    run(tmp_path / "b", problem_file)
    compared = compare_runs(tmp_path / "a", tmp_path / "b")
    one = compared["suites"]["sums"]
    assert (one["difference"], one["better"], one["worse"]) == (pytest.approx(1 / 3), 1, 0)
    assert one["low"] < 1 / 3 < one["high"]
    assert compared["warnings"] == []


def test_an_unlike_comparison_is_warned_about(tmp_path, problem_file, scripted):
    run(tmp_path / "a", problem_file)
    run(tmp_path / "b", problem_file, temperature=0.2)
    assert compare_runs(tmp_path / "a", tmp_path / "b")["warnings"] == [
        "sums: the runs differ in temperature."
    ]


def test_comparing_needs_finished_runs(tmp_path, problem_file, scripted):
    run(tmp_path / "a", problem_file)
    with pytest.raises(ScapoError, match=r"holds no results\.json"):
        compare_runs(tmp_path / "a", tmp_path)


def test_a_store_refuses_a_second_row_under_one_key(tmp_path):
    row = dict.fromkeys(("seed", "completion", "score", "reason", "extracted", "truncated", "tokens"))
    row |= {"suite": "s", "problem_id": "p", "sample": 0}
    store = SampleStore(tmp_path / "samples.jsonl")
    store.add(row)
    with pytest.raises(ValueError, match="already stored"):
        store.add(row)


SLOW_RUN = """
    import sys
    import anyio
    from pathlib import Path
    from inspect_ai.model import ModelAPI, ModelOutput, modelapi
    from scapo.evaluate.inspect_run import ModelChoice
    from scapo.evaluate.run import evaluate
    from scapo.evaluate.setting import Overrides, plan_sets

    file, out, calls, pause = sys.argv[1:]

    @modelapi(name="slow")
    class Slow(ModelAPI):
        async def generate(self, input, tools, tool_choice, config):
            await anyio.sleep(float(pause))
            with open(calls, "a") as log:
                log.write(f"{config.seed}\\n")
            return ModelOutput.from_content(self.model_name, "\\\\boxed{5}")

    model = ModelChoice(name="slow/m", inspect_name="slow/m", label="m", max_connections=1)
    evaluate(model, plan_sets([file], [], Overrides(samples=16)), Path(out), command="test")
"""


def test_kill_9_loses_only_the_sample_in_flight(tmp_path, problem_file):
    script, calls, out = tmp_path / "slow.py", tmp_path / "calls", tmp_path / "out"
    script.write_text(textwrap.dedent(SLOW_RUN))
    command = [sys.executable, str(script), str(problem_file), str(out), str(calls)]
    process = subprocess.Popen([*command, "0.1"])
    try:
        deadline = time.monotonic() + 120
        while not calls.exists() or len(calls.read_text().splitlines()) < 5:
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    kept = len(rows_of(out))
    asked = len(calls.read_text().splitlines())
    assert asked - kept <= 2  # one on its way back from the model, one being graded
    subprocess.run([*command, "0"], check=True, timeout=300)
    seeds = calls.read_text().split()
    assert len(set(seeds)) == 48
    assert len(seeds) == 48 + asked - kept
    assert len(rows_of(out)) == 48


def test_a_second_evaluation_in_one_folder_is_refused(tmp_path, problem_file, scripted):
    with output_lock(tmp_path / "out"), pytest.raises(ScapoError, match="being written by another process"):
        run(tmp_path / "out", problem_file)
    assert scripted.calls == []
