"""The command from end to end with a local model, and the tasks as Inspect sees them."""

import json

import pytest
import typer
from typer.testing import CliRunner

from scapo.errors import ScapoError
from scapo.evaluate.command import evaluate

app = typer.Typer()
app.command("evaluate")(evaluate)


def invoke(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def two_runs(checkpoint, tmp_path_factory):
    """The same command with batch sizes 1 and 32."""
    folder = tmp_path_factory.mktemp("runs")
    file = folder / "sums.jsonl"
    file.write_text(
        "".join(f'{{"id": "p{n}", "problem": "{n} + 2?", "answer": "{n + 2}"}}\n' for n in range(5))
    )
    printed = {
        size: invoke(
            checkpoint, "--suite", file, "--out", folder / str(size), "--samples", 3, "--max-tokens", 24,
            "--batch-size", size, "--pass-k", "1,3", "--against-paper",
        ).output
        for size in (1, 32)
    }  # fmt: skip
    return folder, printed


def keyed(path):
    rows = map(json.loads, (path / "samples.jsonl").read_text(encoding="utf-8").splitlines())
    return {(row["problem_id"], row["sample"]): row for row in rows}


def test_batch_sizes_1_and_32_give_the_same_samples(two_runs):
    folder, _ = two_runs
    assert keyed(folder / "1") == keyed(folder / "32")
    assert len(keyed(folder / "1")) == 15


def test_samples_within_a_run_differ(two_runs):
    rows = keyed(two_runs[0] / "1").values()
    assert len({row["completion"] for row in rows}) > 10
    assert len({row["seed"] for row in rows}) == 15


def test_the_engine_is_recorded(two_runs):
    engine = json.loads((two_runs[0] / "32" / "results.json").read_text())["engine"]
    assert engine["provider"] == "scapo (transformers)"
    assert (engine["dtype"], engine["device"], engine["batch_size"]) == ("float32", "cpu", 32)
    assert len(engine["stop_ids"]) == 2


def test_the_tables_state_sampling_errors_and_reasons(two_runs):
    printed = two_runs[1][32]
    for text in (
        "T=0.7, top-p=0.9, at most 24 tokens, seed 0",
        "±",
        "cut %",
        "why 0",
        "pass@k",
        "results.json",
    ):
        assert text in printed


def test_compare_prints_a_paired_table(two_runs):
    folder, _ = two_runs
    printed = invoke("--compare", folder / "1", folder / "32").output
    assert "paired by problem" in printed
    assert "+0.00" in printed


def test_neither_model_nor_comparison_is_a_sentence(checkpoint):
    with pytest.raises(ScapoError, match="Give a model"):
        invoke()
    with pytest.raises(ScapoError, match="Give a model"):
        invoke(checkpoint)


def test_inspect_knows_our_tasks_and_our_provider(problem_file, checkpoint, tmp_path):
    import inspect_ai

    from scapo.evaluate import registry

    (log,) = inspect_ai.eval(
        registry.problem_file(str(problem_file), samples=2, max_tokens=8),
        model=f"scapo/{checkpoint}", display="none", log_dir=str(tmp_path / "logs"), log_realtime=False,
    )  # fmt: skip
    assert log.status == "success"
    (sample, *_) = log.samples
    assert [row["sample"] for row in sample.metadata["responses"]] == [0, 1]
    assert all(row["truncated"] for row in sample.metadata["responses"] if row["tokens"] == 8)
    assert set(log.results.scores[0].metrics) == {"mean", "stderr"}


def test_every_benchmark_is_a_task():
    from inspect_ai._util.registry import registry_lookup

    from scapo.evaluate import registry
    from scapo.evaluate.benchmarks import BENCHMARKS

    assert all(callable(getattr(registry, name)) for name in BENCHMARKS)
    assert registry_lookup("modelapi", "scapo") or registry_lookup("modelapi", "scapo/scapo")
