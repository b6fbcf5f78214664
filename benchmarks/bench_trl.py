"""What token credit costs: stock TRL, ours with lambda = 0, ours with probing; same model, prompts and seed.

Each measurement is a process of its own (so that peak memory is its own), and the variants take turns. With
the learning rate at 0 all sample the same responses and so do the same work. On a CPU the clock is the process's
CPU time, which other programs on the machine disturb little; on a GPU it is wall time.

    python benchmarks/bench_trl.py [--rounds 3] [--rollouts 5] [--model DIR --data PERTURBED.jsonl]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

KINDS = ["paraphrase", "typo_noise", "scenario_wrap", "irrelevant_context", "counterfactual"]
VARIANTS = {"a": "stock TRL", "b": "ours, lambda 0", "c": "ours, probing"}
STAGES = ("rollout", "reward", "old logp", "credit", "update", "step")
"""credit: what comes between the rewards and the update, probing included."""


def main() -> None:
    """Take turns over the variants, then print seconds per rollout cycle and the ratios with their bars."""
    arguments = parse()
    if arguments.variant:
        print(json.dumps(measure(arguments)))
        return
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.data:
            arguments.model, arguments.data = make_world(Path(folder))
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in VARIANTS}
        take_turns(found, arguments, folder)
    report(found, arguments)


def parse(text: str | None = __doc__, **more: Any) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, settings in more.items():
        parser.add_argument(f"--{name}", **settings)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--rollouts", type=int, default=5, help="measured rollouts per process, after one to warm up"
    )
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--micro-batch", type=int, default=64)
    parser.add_argument("--model")
    parser.add_argument("--data")
    parser.add_argument("--variant", help="measure one variant in this process and print JSON")
    return parser.parse_args()


def make_world(folder: Path) -> tuple[str, str]:
    """The embedded world's model and rewritten problems."""
    data = folder / "train.perturbed.jsonl"
    perturb = ["perturb", folder / "world/train.jsonl", "--kinds", ",".join(KINDS), "-o", data]
    for command in (["world", folder / "world"], perturb):
        subprocess.run(
            [sys.executable, "-m", "scapo.cli", *map(str, command)], check=True, stdout=subprocess.DEVNULL
        )
    return str(folder / "world/base"), str(data)


def take_turns(found: dict[str, list[dict[str, Any]]], arguments: argparse.Namespace, folder: str) -> None:
    """Measure every variant `rounds` times; each round starts with another one."""
    names = list(found)
    for number in range(arguments.rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(run_variant(name, arguments, folder))


def run_variant(name: str, arguments: argparse.Namespace, folder: str) -> dict[str, Any]:
    words = [
        f"--{key.replace('_', '-')}={value}"
        for key, value in vars(arguments).items()
        if key not in ("variant", "methods")
    ]
    command = [sys.executable, __file__, *words, f"--variant={name}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    result = json.loads(done.stdout.splitlines()[-1])
    print(f"{VARIANTS.get(name, name):20} {result['step']:6.2f} s a rollout cycle", flush=True)
    return result


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Seconds per rollout cycle of one variant, by stage; peak memory; largest tensor of the probe."""
    import torch

    from scapo.engines.trl.metrics import peak_memory_gib

    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    trainer = build(arguments)
    spent: dict[str, list[float]] = {}
    timed(trainer, {"_generate": "rollout", "_calculate_rewards": "reward"}, clock, spent)
    timed(getattr(trainer, "credit", None), {"after_rollout": "credit"}, clock, spent)
    timed(trainer, {"_generate_and_score_completions": "score", "training_step": "micro-batch"}, clock, spent)
    trainer.add_callback(step_clock(clock, spent))
    trainer.train()
    per = {name: sum(values[len(values) // (arguments.rollouts + 1) :]) for name, values in spent.items()}
    seconds = {name: value / arguments.rollouts for name, value in per.items()}
    credit = seconds.setdefault("credit", 0.0)
    seconds["update"] = seconds["step"] - seconds["score"]
    seconds["old logp"] = seconds["score"] - seconds["rollout"] - seconds["reward"] - credit
    memory = {"peak": peak_memory_gib()}
    if arguments.variant == "c":
        memory["largest"], memory["full"] = probe_tensors(trainer)
    cycles = [first + second for first, second in zip(spent["step"][2::2], spent["step"][3::2], strict=True)]
    return {name: seconds[name] for name in STAGES} | memory | {"cycles": cycles}


def build(arguments):
    """The variant's trainer on one core: two optimiser steps per rollout, learning rate 0.

    A variant that is not in VARIANTS is a method's name; its correction, if any, is always on.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from scapo.engines.trl import ScapoConfig, ScapoTrainer
    from scapo.engines.trl.data import as_dataset
    from scapo.engines.trl.method import method_settings
    from scapo.problems import load_problems
    from scapo.reward import boxed_reward

    on_cpu = not torch.cuda.is_available()
    torch.set_num_threads(1)
    responses = arguments.prompts * 8
    settings = {
        "output_dir": "bench",
        "use_cpu": on_cpu,
        "bf16": not on_cpu,
        "gradient_checkpointing": False,
        "learning_rate": 0.0,
        "num_generations": 8,
        "per_device_train_batch_size": arguments.micro_batch,
        "gradient_accumulation_steps": responses // 2 // arguments.micro_batch,
        "steps_per_generation": responses // arguments.micro_batch,
        "max_completion_length": arguments.max_tokens,
        "max_steps": 2 * (arguments.rollouts + 1),
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "seed": 1,
    }
    stock = {"epsilon_high": 0.28, "delta": 10.0, "weight_decay": 0.01, "lr_scheduler_type": "constant"}
    trainer_class, config = {
        "a": (GRPOTrainer, lambda: GRPOConfig(**settings, **stock, logging_steps=1)),
        "b": (ScapoTrainer, lambda: ScapoConfig(**settings, lambda_0=0.0)),
        "c": (ScapoTrainer, lambda: ScapoConfig(**settings, n_0=10**6)),
    }.get(
        arguments.variant,
        (ScapoTrainer, lambda: ScapoConfig(**settings, n_0=10**6, **method_settings(arguments.variant))),
    )
    return trainer_class(
        AutoModelForCausalLM.from_pretrained(arguments.model, dtype="float32"),
        boxed_reward,
        config(),
        train_dataset=as_dataset(load_problems(arguments.data).problems, KINDS),
        processing_class=AutoTokenizer.from_pretrained(arguments.model, padding_side="left"),
    )


def timed(trainer, names, clock, spent) -> None:
    """Record the seconds of every call of some methods."""
    for method, stage in names.items():
        original = getattr(trainer, method, None)
        if original is None:
            continue

        def wrapper(*args, original=original, stage=stage, **kwargs):
            started = clock()
            result = original(*args, **kwargs)
            spent.setdefault(stage, []).append(clock() - started)
            return result

        setattr(trainer, method, wrapper)


def step_clock(clock, spent):
    from transformers import TrainerCallback

    class StepClock(TrainerCallback):
        def on_step_begin(self, *_, **__):
            self.started = clock()

        def on_step_end(self, *_, **__):
            spent.setdefault("step", []).append(clock() - self.started)

    return StepClock()


def probe_tensors(trainer) -> tuple[float, float]:
    """Elements of the largest tensor that one probe makes, and those that an (N, T, V) tensor would have."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Largest(TorchDispatchMode):
        elements = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            sizes = [leaf.numel() for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
            self.elements = max([self.elements, *sizes])
            return result

    batch = next(iter(trainer.get_train_dataloader()))
    trainer.model.train()
    probe, seen = trainer.probe, Largest()

    def watched(rollout):
        with seen:
            probe(rollout)
        seen.full = rollout.mask_NT.numel() * trainer.model.config.vocab_size

    trainer.probe = watched
    trainer._generate_and_score_completions(batch)
    return seen.elements, seen.full


def report(found: dict[str, list[dict[str, Any]]], arguments: argparse.Namespace) -> None:
    """Means over rounds, and ratios of the median and of the fastest cycle, with their bars."""
    print(f"\n{arguments.prompts} prompts x 8 responses, two updates; {len(found['a'])} rounds")
    print("seconds per rollout cycle" + "".join(f"{stage:>10}" for stage in STAGES) + "   peak GiB")
    for name, rows in found.items():
        means = [statistics.mean(row[stage] for row in rows) for stage in STAGES]
        numbers = "".join(f"{value:10.3f}" for value in means)
        print(f"({name}) {VARIANTS[name]:21}{numbers}{max(row['peak'] for row in rows):11.2f}")
    cycles = {name: [seconds for row in rows for seconds in row["cycles"]] for name, rows in found.items()}
    for name, bar in (("b", "at most 1.02"), ("c", "")):
        median, fastest = (pick(cycles[name]) / pick(cycles["a"]) for pick in (statistics.median, min))
        print(f"({name})/(a) whole cycle: median {median:.3f}, fastest {fastest:.3f}   {bar}")
    credit = statistics.median(row["credit"] / row["update"] for row in found["c"])
    print(f"credit / update in (c): median {credit:.3f}   at most 1")
    largest = max(row["largest"] / row["full"] for row in found["c"])
    print(f"largest tensor of the probe / (N, T, V): {largest:.3f}   below 1")


if __name__ == "__main__":
    main()
