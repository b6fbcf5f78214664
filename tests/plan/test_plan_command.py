"""The command, and the numbers that the documents quote from it."""

import json
import re
import shlex
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scapo.cli import app
from scapo.errors import ScapoError
from scapo.plan.hardware import GPUS
from scapo.plan.model_shape import SHAPES
from scapo.plan.setting import Setting

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```text\n\$ (scapo plan[^\n]*)\n(.*?)```", re.DOTALL)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["plan", *words], env={"COLUMNS": "100", "TERM": "dumb"})
    if isinstance(result.exception, ScapoError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_the_tables_hold_what_a_user_asks():
    shown = run("--model", "qwen3-4b", "--gpus", "8", "--response", "16384")
    for word in ("rollout", "old log-probs", "probe", "update", "key-value cache", "K = 8", "GPU hours"):
        assert word in shown


def test_json_holds_the_same_numbers():
    content = json.loads(run("--json", "--n-0", "60"))
    assert content["kind"] == "plan"
    assert content["run"]["probed"] == 30
    batch = content["probed_batch"]
    phases = ("rollout", "old_logprobs", "probe", "update")
    assert batch["seconds_probed"] == pytest.approx(sum(batch[name]["seconds"] for name in phases))
    assert len(content["what_if"]) > 8


def test_without_flags_it_is_the_papers_run_on_eight_h100():
    given = Setting(shape=SHAPES["qwen3-4b"], gpu=GPUS["h100"], gpus=8)
    shown = json.loads(run("--json"))["setting"]
    assert shown == json.loads(json.dumps(asdict(given) | {"micro_tokens": given.micro_batch}))


def test_json_of_the_check_against_the_paper():
    content = json.loads(run("--against-paper", "--json"))
    assert content["paper"]["rollout"] == 0.527
    assert {one["gpu"] for one in content["model"]} == {"a100-80gb", "h100", "h200"}


def test_what_does_not_fit_is_said():
    shown = run(
        "--model", "qwen3-8b", "--gpus", "8", "--gpu", "l40s", "--response", "8192", "--rollout-memory", "0.8"
    )
    assert "The update with whole logits does not fit" in " ".join(shown.split())


def test_measured_lengths_and_own_hardware(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(f'{{"tokens": {n}}}\n' for n in range(1, 200)))
    content = json.loads(run("--lengths", str(path), "--peak-tflops", "500", "--json"))
    assert content["other_batch"]["mean_length"] == pytest.approx(100, abs=1)
    assert content["setting"]["gpu"]["flops"] == 500e12


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--gpu", "tpu"], "h100"),
        (["--mean-response", "20000"], "--mean-response"),
        (["--mfu", "1.2"], "utilisation is 1.2"),
        (["--step-overhead-ms", "-1"], "negative"),
        (["--memory-gib", "0"], "--memory-gib"),
        (["--lengths", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_wrong_input_is_a_sentence(words, says):
    with pytest.raises(ScapoError, match=says):
        run(*words)


def quoted() -> list[tuple[str, str]]:
    pages = [ROOT / "docs" / name for name in ("plan.md", "cluster.md")]
    return [block for page in pages for block in BLOCK.findall(page.read_text(encoding="utf-8"))]


def test_documents_quote_the_command():
    assert len(quoted()) >= 3


@pytest.mark.parametrize(("command", "text"), quoted(), ids=lambda text: text[:60])
def test_quoted_output_is_what_the_command_prints(command, text):
    shown = [line.rstrip() for line in run(*shlex.split(command)[2:]).splitlines()]
    missing = [
        line for line in text.rstrip().splitlines() if line.strip() != "..." and line.rstrip() not in shown
    ]
    assert not missing
