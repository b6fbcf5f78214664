"""`scapo decode` from files to files on the embedded world's model: results, resuming, and what goes wrong kindly."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from scapo.decode.command import decode
from scapo.decode.generate import FilterRequest, filtered_generate
from scapo.errors import ScapoError
from scapo.files import output_lock, read_jsonl, write_jsonl
from scapo.sampling.local import LocalModel

BASE = Path(str(files("scapo.problems.world") / "base"))


def row(n: int, **perturbations: str) -> dict:
    story = f"In the workshop, Nora owns {n + 10} pencils. Then a storm ruins 3 of the pencils."
    ask = "How many pencils does Nora end up with?"
    texts = {
        "paraphrase": f"{story} Work out how many pencils Nora ends up with.",
        "typo_noise": f"{story} {ask}".replace("workshop", "wokshop"),
        "scenario_wrap": f"During a lesson, {story[0].lower()}{story[1:]} {ask}",
        **perturbations,
    }
    return {"id": f"p{n}", "problem": f"{story} {ask}", "answer": str(n + 7), "perturbations": texts}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "perturbed.jsonl"
    rows = [row(n) for n in range(6)]
    rows[2]["perturbations"] = {"typo_noise": rows[2]["perturbations"]["typo_noise"]}  # fewer than the others
    rows.append({**row(6), "perturbations": {}})  # none: left out
    write_jsonl(path, rows)
    return path


def run(*arguments):
    app = Typer()
    app.command()(decode)
    return CliRunner().invoke(app, [str(a) for a in (*arguments, "--max-tokens", 24, "--device", "cpu")])


def refusal(*arguments) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, ScapoError), result.output
    return str(result.exception)


def samples(folder: Path) -> dict:
    return {(row["problem_id"], row["mode"]): row for _, row in read_jsonl(folder / "samples.jsonl")}


def without_moment(folder: Path) -> dict:
    found = json.loads((folder / "decode.json").read_text())
    return {key: value for key, value in found.items() if key not in ("created", "command")}


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    result = run(BASE, data, "-o", out)
    assert result.exit_code == 0, result.output
    return out, result.output


def test_the_result_is_made_of_the_samples(finished):
    out, said = finished
    found, rows = without_moment(out), samples(out)
    assert found["problems"] == 6
    assert found["left_out"] == {"row refused": 0, "no rewrite": 1, "prompt too long": 0}
    assert found["kinds"] == ["paraphrase", "typo_noise", "scenario_wrap"]
    assert set(rows) == {(f"p{n}", mode) for n in range(6) for mode in ("plain", "filtered")}
    pairs = [(rows[f"p{n}", "plain"]["score"], rows[f"p{n}", "filtered"]["score"]) for n in range(6)]
    for name, pair in {"both": (1, 1), "lost": (1, 0), "gained": (0, 1), "neither": (0, 0)}.items():
        assert found[name] == pairs.count(pair)
    filtered = [r for (_, mode), r in rows.items() if mode == "filtered"]
    assert found["rejections_per_response"] == sum(r["rejections"] for r in filtered) / 6 > 0
    assert all(r["rejections"] == 0 for (_, mode), r in rows.items() if mode == "plain")
    assert len({r["seed"] for r in filtered}) == 6
    assert rows["p0", "plain"]["seed"] == rows["p0", "filtered"]["seed"]
    assert "McNemar" in said


def test_the_batch_size_changes_no_response(data, finished, tmp_path):
    assert run(BASE, data, "-o", tmp_path, "--batch-size", 1).exit_code == 0
    assert samples(tmp_path) == samples(finished[0])


def test_an_interrupted_run_goes_on_and_ends_the_same(data, finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "out")
    path = tmp_path / "out" / "samples.jsonl"
    kept = path.read_text().splitlines(keepends=True)[:7]
    path.write_text("".join(kept) + '{"problem_id": "p3", "mo')  # torn by a kill
    (tmp_path / "out" / "decode.json").unlink()
    assert run(BASE, data, "-o", tmp_path / "out").exit_code == 0
    assert path.read_text().startswith("".join(kept))
    assert without_moment(tmp_path / "out") == without_moment(finished[0])
    assert len(path.read_text().splitlines()) == 12


@pytest.mark.slow
def test_a_killed_process_goes_on(data, finished, tmp_path):
    command = [
        sys.executable, "-m", "scapo.cli", "decode", str(BASE), str(data), "-o", str(tmp_path / "out"),
        "--max-tokens", "24", "--device", "cpu", "--batch-size", "1",
    ]  # fmt: skip
    path = tmp_path / "out" / "samples.jsonl"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=dict(os.environ, OMP_NUM_THREADS="1"))
    ends = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < ends and not (path.exists() and path.stat().st_size):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert path.stat().st_size
    assert run(BASE, data, "-o", tmp_path / "out", "--batch-size", 1).exit_code == 0
    assert without_moment(tmp_path / "out") == without_moment(finished[0])


def test_other_settings_are_refused_once_there_are_results(data, finished):
    said = refusal(BASE, data, "-o", finished[0], "--filter-mass", 0.5)
    assert "filter_mass was 0.8 and is 0.5" in said


def test_a_run_that_never_started_does_not_block_its_folder(data, tmp_path):
    assert "No model could be loaded" in refusal(tmp_path / "nowhere", data, "-o", tmp_path / "out")
    assert run(BASE, data, "-o", tmp_path / "out", "--problems", 1).exit_code == 0
    found = without_moment(tmp_path / "out")
    assert (found["problems"], found["stderr"]) == (1, None)


def test_bad_files_are_named_before_a_model_is_loaded(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert "empty.jsonl holds no problem" in refusal("no-model", empty, "-o", tmp_path / "out")
    plain = tmp_path / "plain.jsonl"
    write_jsonl(plain, [{"problem": "What is 2 + 3?", "answer": "5"}])
    assert "scapo perturb" in refusal("no-model", plain, "-o", tmp_path / "out")
    only = tmp_path / "counterfactual.jsonl"
    write_jsonl(only, [{**row(0), "perturbations": {"counterfactual": "What is 2 + 4?"}}])
    assert "has rewrites" in refusal("no-model", only, "-o", tmp_path / "out")
    assert "is not a file" in refusal("no-model", tmp_path / "absent.jsonl", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_model_without_chat_template_and_a_limit_beyond_the_context_are_named(data, tmp_path):
    bare = shutil.copytree(BASE, tmp_path / "bare")
    (bare / "chat_template.jinja").unlink()
    assert "has no chat template" in refusal(bare, data, "-o", tmp_path / "out")
    result = CliRunner().invoke(
        _app(), [str(BASE), str(data), "-o", str(tmp_path / "o"), "--max-tokens", "99999"]
    )
    assert "Lower --max-tokens" in str(result.exception)


def _app() -> Typer:
    app = Typer()
    app.command()(decode)
    return app


def test_prompts_of_5_50_and_200_tokens_in_one_batch_are_as_alone():
    local = LocalModel(str(BASE), device="cpu")
    ids = local.prompt_ids([{"role": "user", "content": row(0)["problem"]}])
    texts = {n: (ids * 10)[:n] for n in (5, 50, 200)}
    orders = ((5, 50, 200), (200, 5, 50), (50, 200), (5, 5, 5, 200))
    requests = [
        FilterRequest(
            clean_ids=texts[first], perturbed_ids=tuple(texts[n] for n in rest), seed=seed, max_tokens=12
        )
        for seed, (first, *rest) in enumerate(orders)
    ]
    ends = local.stop_ids | {10**6}  # an end token that the tokenizer knows and the model lacks
    together = filtered_generate(local.model, requests, ends)
    assert together == [filtered_generate(local.model, [wanted], ends)[0] for wanted in requests]


def test_a_temperature_of_zero_is_refused():
    with pytest.raises(ScapoError, match="above 0"):
        filtered_generate(None, [], frozenset(), temperature=0.0)


def test_a_second_decoding_in_one_folder_is_refused(data, tmp_path):
    with output_lock(tmp_path / "out"):
        assert "being written by another process" in refusal(
            BASE, data, "-o", tmp_path / "out", "--problems", 1
        )
