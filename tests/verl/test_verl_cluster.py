"""A whole run on a local Ray cluster with two actor ranks, on the embedded world's model: killed once, resumed.

It learns, probes until n_0 and not after, leaves checkpoints and metrics, and its first advantages equal those made
by plain transformers from the same responses.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

pytestmark = [
    pytest.mark.verl,
    pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="the verl extra is not installed"),
]

HERE = Path(__file__).parent
RECIPE = HERE.parent.parent / "recipes" / "verl" / "cpu-world.yaml"
ROLLOUTS, N_0, UPDATES = 10, 4, 2
PATIENCE = float(os.environ.get("SCAPO_VERL_PATIENCE", "300"))
"""Seconds for each of the two parts of the run."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The world's base model, and a Parquet file of the problems on which its shortcut misleads it (0.36 right)."""
    from typer.testing import CliRunner

    from scapo.cli import app

    folder = tmp_path_factory.mktemp("world")
    for words in (
        ["world", f"{folder}/world", "--train", "1", "--test", "32"],
        ["perturb", f"{folder}/world/test_conflict.jsonl", "-o", f"{folder}/train.perturbed.jsonl"],
        ["problems", "to-verl", f"{folder}/train.perturbed.jsonl", "-o", f"{folder}/train.parquet"],
    ):
        assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    return folder


class Run:
    """A driver in a process of its own, with every process that it brings forth."""

    def __init__(self, world):
        self.folder = world
        self.output = world / "run"

    def start(self):
        environment = dict(
            os.environ,
            PYTHONPATH=str(HERE),
            SCAPO_TEST_DUMP=str(self.folder / "dump"),
            HF_HUB_OFFLINE="1",
            RAY_USAGE_STATS_ENABLED="0",
            RAY_prestart_worker_first_driver="0",  # a process per logical CPU would start for nothing
        )
        environment.setdefault("RAY_worker_niceness", "0")  # Ray's 15 starves beside anything else
        words = [f"output={self.output}", f"trainer.total_training_steps={ROLLOUTS}", f"method.n_0={N_0}"]
        words += ["actor_rollout_ref.actor.optim.lr=1e-3"]
        self.log = (self.folder / f"log-{time.time():.0f}.txt").open("w")
        self.driver = subprocess.Popen(
            [sys.executable, "-m", "scapo.engines.verl", str(RECIPE), *words],
            cwd=self.folder,
            env=environment,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def rows(self):
        path = self.output / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def text(self):
        return Path(self.log.name).read_text(errors="replace")

    def wait(self, done):
        deadline = time.monotonic() + PATIENCE
        while not done():
            if self.driver.poll() is not None and not done():
                pytest.fail(f"the driver ended with {self.driver.returncode}:\n{self.text()[-4000:]}")
            if time.monotonic() > deadline:
                pytest.fail(f"not done after {PATIENCE:.0f} s:\n{self.text()[-4000:]}")
            time.sleep(0.5)

    def kill(self):
        """kill -9 the driver; then whatever of its cluster has not gone with it."""
        import psutil

        family = (
            psutil.Process(self.driver.pid).children(recursive=True) if self.driver.poll() is None else []
        )
        self.driver.send_signal(signal.SIGKILL)
        self.driver.wait()
        _, alive = psutil.wait_procs(family, timeout=5)
        for process in alive:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(alive, timeout=10)


@pytest.fixture(scope="module")
def finished(world):
    """The run, after a kill in its second half and a second start; and the step of the checkpoint it went on from."""
    run = Run(world)
    try:
        run.start()
        run.wait(lambda: len(run.rows()) >= 6)
        run.kill()
        latest = int((run.output / "checkpoints" / "latest_checkpointed_iteration.txt").read_text())
        run.start()
        run.wait(lambda: run.driver.poll() == 0)
        yield run, latest
    finally:
        run.kill()


def test_the_run_goes_on_where_its_checkpoint_was(finished):
    run, latest = finished
    assert latest in (4, 6)  # save_freq is 2
    assert f"setting global step to {latest}" in run.text()
    assert [row["step"] for row in run.rows()] == [UPDATES * s for s in range(1, ROLLOUTS + 1)]
    assert json.loads((run.output / "config.json").read_text())["recipe"]["method"]["n_0"] == N_0


def test_it_learns(finished):
    run, _ = finished
    rewards = [row["reward/mean"] for row in run.rows()]
    # Two rollouts see all 32 problems, so first and last pass differ by sampling alone (standard error 0.04).
    assert sum(rewards[-2:]) / 2 > sum(rewards[:2]) / 2 + 0.08, rewards


def test_it_probes_until_n_0_and_not_after(finished):
    run, _ = finished
    probed = [row["step"] for row in run.rows() if "time/probe_s" in row]
    assert probed == [2, 4]
    assert [row["step"] for row in run.rows() if row["lambda"] > 0] == probed
    first = run.rows()[0]
    assert 0.001 < first["drift/mean"] < 2
    assert first["drift/noise_floor"] < 1e-4  # float32: packing moves nothing
    assert 0.02 < first["credit/share_corrected"] < 0.6  # few tokens carry most of the drift
    assert 0 < first["time/probe_s"] < first["time/step_s"]


def test_log_probs_u_and_advantages_are_those_of_plain_transformers(finished, world):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from scapo.algorithm import (
        augmented_advantage,
        group_stability,
        outcome_advantage,
        response_logprobs,
        semifactual_correction,
    )
    from scapo.algorithm.probe_plan import ProbeRow

    kept = torch.load(world / "dump" / "step-1.pt", weights_only=False)
    rollout, advantage_NT = kept["rollout"], kept["advantage_NT"]
    assert len(rollout["group_N"]) == 128
    assert sorted(rollout["group_N"].bincount().tolist()) == [8] * 16
    first_rank = set(rollout["group_N"][:64].tolist())
    assert first_rank & set(rollout["group_N"][64:].tolist())  # groups lie on both ranks
    assert sorted(set(rollout["step_N"].tolist())) == [1, 2]

    model = AutoModelForCausalLM.from_pretrained(world / "world" / "base", dtype="float32")
    tokenizer = AutoTokenizer.from_pretrained(world / "world" / "base")
    assert "<|im_start|>assistant" in tokenizer.decode(rollout["rewrites"][0][0])
    rows = [
        ProbeRow(clean=clean, perturbed=perturbed, response=response)
        for clean, perturbed, response in zip(
            rollout["prompt_ids"], rollout["rewrites"], rollout["response_ids"], strict=True
        )
    ]
    plain = response_logprobs(model, rows, noise_rows=0)
    mask_NT = rollout["mask_NT"]
    assert torch.equal(plain.mask, mask_NT)
    torch.testing.assert_close(plain.logp_clean[mask_NT], rollout["logp_NT"][mask_NT], rtol=0, atol=1e-5)
    torch.testing.assert_close(
        plain.drift.nan_to_num(0.0)[:, mask_NT], kept["drift_KNT"][:, mask_NT], rtol=0, atol=1e-5
    )
    u_NT = group_stability(plain.drift.nan_to_num(0.0), mask_NT, rollout["group_N"], plain.present)
    expected = augmented_advantage(
        outcome_advantage(rollout["reward_N"], rollout["group_N"]),
        semifactual_correction(u_NT, mask_NT),
        0.01,
    )
    torch.testing.assert_close(advantage_NT[mask_NT], expected[mask_NT], rtol=0, atol=1e-5)


def test_checkpoints_are_kept_and_complete(finished):
    run, _ = finished
    folder = run.output / "checkpoints"
    assert (folder / "latest_checkpointed_iteration.txt").read_text() == str(ROLLOUTS)
    kept = folder / f"global_step_{ROLLOUTS}"
    assert (kept / "data.pt").exists()
    assert len(list((kept / "actor").glob("model_world_size_2_rank_*.pt"))) == 2
