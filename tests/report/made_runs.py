"""Run directories made by the schemas of docs/files.md, for the tests of the report."""

import random
from pathlib import Path
from typing import Any

from scapo.files import write_json, write_jsonl

KINDS = ("paraphrase", "typo_noise", "scenario_wrap", "irrelevant_context")
CLASSES = ("reflection", "connective", "math symbol", "number", "word", "punctuation", "whitespace", "other")
VERSIONS = {
    "python": "3.11.9",
    "scapo": "0.1.0",
    "torch": "2.13.0",
    "transformers": "5.24.0",
    "trl": "1.16.0",
}
CREATED = "2026-11-30T20:57:00+00:00"


def train_run(path: Path, label: str, seed: int = 0, steps: int = 60, n_0: int = 0) -> Path:
    """A training run whose reward rises from 0.45 to about 0.75; lambda = 0.01 for its first `n_0` steps."""
    chance = random.Random(f"{label} {seed}")
    rows = []
    for step in range(1, steps + 1):
        row = {
            "step": step,
            "lambda": 0.01 if step <= n_0 else 0.0,
            "reward/mean": 0.75 - 0.3 * 0.95**step + chance.gauss(0, 0.03),
            "reward/reason/correct": 0.7,
            "loss": chance.gauss(0, 0.01),
            "entropy": 0.6 * 0.98**step,
            "grad_norm": 0.5 + 0.1 * chance.random(),
            "clip/low": 0.001,
            "clip/high": 0.002 * chance.random(),
            "length/mean": 55 + chance.gauss(0, 2),
            "length/truncated": 0.01,
            "time/rollout_s": 2.1,
            "time/reward_s": 0.1,
            "time/update_s": 1.3,
            "tokens_per_second": 1500 + chance.gauss(0, 40),
            "memory/peak_gib": 1.2,
        }
        if step <= n_0:
            row |= {
                "time/probe_s": 0.5,
                "drift/mean": 0.08 * 0.99**step,
                "drift/noise_floor": 1e-4,
                "drift/signal_to_noise": 800 * 0.99**step,
                "drift/share_zero": 0.02,
                "credit/share_corrected": 0.3,
                "credit/dead_groups": 0.4,
                "credit/sign_flips": 0.0,
            }
        rows.append(row)
    recipe = {
        "model": "runs/world/base",
        "learning_rate": 3e-5,
        "method": {"credit": "semifactual" if n_0 else "outcome"},
        "schedule": {"lambda_0": 0.01, "n_0": n_0 or 20},
        "group_size": 8,
        "temperature": 1.0,
    }
    write_json(
        path / "config.json",
        {
            "kind": "train",
            "label": label,
            "recipe": recipe,
            "seed": seed,
            "created": CREATED,
            "versions": VERSIONS,
            "command": f"scapo train recipes/quickstart.yaml --label {label}",
            "data": {"path": "runs/train.perturbed.jsonl", "sha256": "ab" * 32, "problems": 2000},
        },
    )
    write_jsonl(path / "metrics.jsonl", rows)
    (path / "model").mkdir(exist_ok=True)
    return path


def eval_run(
    path: Path,
    label: str,
    model: str,
    chances: dict[str, float],
    problems: int = 200,
    samples: int = 4,
    seed: int = 0,
    keep_samples: bool = True,
) -> Path:
    """An evaluation whose problems have a difficulty of their own, shared by all methods."""
    rows, suites = [], {}
    for suite, chance in chances.items():
        dice = random.Random(f"{label} {suite} {seed}")
        right = []
        for problem in range(problems):
            difficulty = random.Random(f"{suite} {problem}").uniform(-0.3, 0.3)
            for sample in range(samples):
                score = float(dice.random() < chance + difficulty)
                right.append(score)
                rows.append(
                    {
                        "suite": suite,
                        "problem_id": f"{suite}-{problem}",
                        "sample": sample,
                        "seed": seed,
                        "completion": "\\boxed{1}",
                        "score": score,
                        "reason": "correct" if score else "wrong",
                        "extracted": "1",
                        "truncated": False,
                        "tokens": 40,
                    }
                )
        accuracy = sum(right) / len(right)
        suites[suite] = {
            "family": "World",
            "problems": problems,
            "samples": samples,
            "pass_at_k": {
                str(k): {"value": accuracy ** (1 / k), "low": 0.9 * accuracy, "high": 1.0} for k in (1, 2, 4)
            },
            "accuracy": accuracy,
            "stderr": 0.02,
            "truncation_rate": 0.01,
            "mean_tokens": 51.3,
            "reasons": {"correct": int(sum(right)), "wrong": len(right) - int(sum(right))},
        }
    pooled = sum(suite["accuracy"] for suite in suites.values()) / len(suites)
    whole = {"sets": len(suites), "problems": problems * len(suites), "accuracy": pooled, "stderr": 0.01}
    write_json(
        path / "results.json",
        {
            "kind": "evaluate",
            "model": model,
            "label": label,
            "seed": seed,
            "suites": suites,
            "aggregates": {"World": whole},
            "versions": VERSIONS,
            "sampling": {"samples": samples, "temperature": 0.7, "top_p": 0.9, "max_tokens": 160},
            "command": f"scapo evaluate {model} --label {label} --suite world",
            "created": CREATED,
        },
    )
    if keep_samples:
        write_jsonl(path / "samples.jsonl", rows)
    return path


def drift_run(path: Path, label: str = "base", **case: Any) -> Path:
    """A diagnosis with all parts, and two groups of responses."""
    values = dict(zip(CLASSES, (0.12, 0.095, 0.05, 0.045, 0.085, 0.06, 0.03, 0.07), strict=True))
    shares = (0.003, 0.05, 0.12, 0.2, 0.45, 0.1, 0.07, 0.007)
    edges = [0.0, *(10 ** (e / 4) for e in range(-28, 1)), 2.0]
    counts = [900, *(int(800 * 2.718 ** (-(((e + 8) / 7) ** 2))) for e in range(-28, 1))]
    write_json(
        path / "drift.json",
        {
            "kind": "diagnose",
            "model": "runs/world/base",
            "label": label,
            "problems": 200,
            "responses": 200,
            "tokens": 10412,
            "kinds": list(KINDS),
            "mean": {"value": 0.0715, "low": 0.0654, "high": 0.0779},
            "share_zero": 0.064,
            "direction": {"unchanged": 0.11, "up": 0.4, "down": 0.49},
            "histogram": {"edges": edges, "counts": counts},
            "per_kind": {
                kind: {"value": 0.05 + 0.02 * i, "low": 0.045 + 0.02 * i, "high": 0.056 + 0.02 * i}
                for i, kind in enumerate(KINDS)
            },
            "classes": [
                {
                    "class": name,
                    "tokens": int(10412 * share),
                    "share": share,
                    "value": value,
                    "low": 0.9 * value,
                    "high": 1.1 * value,
                    "relative": value / 0.0715,
                }
                for (name, value), share in zip(values.items(), shares, strict=True)
            ],
            "noise_floor": 0.0,
            "seed": 0,
            "versions": VERSIONS,
            "created": CREATED,
            "command": "scapo diagnose runs/world/base runs/conflict.perturbed.jsonl",
        },
    )
    write_jsonl(path / "cases.jsonl", [case_row("world-17", 8, **case), case_row("world-42", 8)])
    return path


PROMPT = "At the market, Mia had 23 apples. She gave 7 apples to Tom. How many apples does Mia have now?"
REWRITES = {
    "paraphrase": PROMPT.replace("gave", "handed").replace("now", "left"),
    "typo_noise": PROMPT.replace("market", "makret"),
    "scenario_wrap": "During a quiet lesson: " + PROMPT,
    "irrelevant_context": PROMPT + " [tag: mx93q]",
}
RESPONSE = (
    "Mia/ starts/ with/ /2/3/ apples/./ She/ gives/ away/ /7/,/ we/ sub/tract/:/\n/2/3/ -/ /7/ =/ /1/6/./\n"
    "/The/ answer/ is/ \\/boxed/{/1/6/}/./<|im_end|>"
)


def case_row(
    problem_id: str, responses: int, prompt: str = PROMPT, tokens: list[str] | None = None, **extra: Any
) -> dict[str, Any]:
    """One whole group of responses with made-up drift."""
    dice = random.Random(problem_id)
    group = []
    for number in range(responses):
        texts = tokens or RESPONSE.split("/") * (1 + number % 2)
        drift = {kind: [min(2.0, 0.02 * dice.lognormvariate(0, 1.6)) for _ in texts] for kind in KINDS}
        mean = [sum(values) / len(KINDS) for values in zip(*drift.values(), strict=True)]
        u = [2 * (0.05 - value) / 0.05 for value in mean]
        advantage = 0.54 if number % 3 else -1.62
        group.append(
            {
                "reward": float(number % 3 > 0),
                "reason": "correct" if number % 3 else "wrong",
                "tokens": texts,
                "classes": [CLASSES[len(text) % 8] for text in texts],
                "drift": drift,
                "mean_drift": mean,
                "u": u,
                "advantage": advantage,
                "advantage_augmented": [advantage + 0.01 * min(0.0, v) for v in u],
            }
        )
    return {
        "problem_id": problem_id,
        "prompt": prompt,
        "answer": "16",
        "perturbations": REWRITES,
        "responses": group,
        **extra,
    }


def whole_set(folder: Path) -> list[Path]:
    """What the quick start leaves: two trainings, three evaluations, a diagnosis."""
    base = {"agree": 0.85, "conflict": 0.4, "neutral": 0.62, "noop": 0.5}
    grpo = {"agree": 0.84, "conflict": 0.55, "neutral": 0.7, "noop": 0.58}
    scapo = {"agree": 0.85, "conflict": 0.56, "neutral": 0.7, "noop": 0.59}
    return [
        train_run(folder / "grpo", "GRPO"),
        train_run(folder / "scapo", "SCAPO", n_0=20),
        eval_run(folder / "eval-base", "base", "runs/world/base", base),
        eval_run(folder / "eval-grpo", "GRPO", str(folder / "grpo" / "model"), grpo),
        eval_run(folder / "eval-scapo", "SCAPO", str(folder / "scapo" / "model"), scapo),
        drift_run(folder / "drift"),
    ]
