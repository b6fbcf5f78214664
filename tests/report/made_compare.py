"""A folder as `scapo compare` leaves it, and decode outputs, for the tests of the report."""

import random
from pathlib import Path
from typing import Any

from made_runs import CREATED, VERSIONS, eval_run, train_run

from scapo.compare.grid import Cell, Outcome, Plan
from scapo.compare.run import report
from scapo.engines.methods import method_label
from scapo.files import read_jsonl, write_json, write_jsonl

TEN = (
    "grpo",
    "scapo",
    "gspo",
    "sapo",
    "cf_grpo",
    "fipo",
    "scapo_shuffled",
    "scapo_counterfactual",
    "scapo_all",
    "entropy_top",
)
COMMAND = "scapo compare recipes/world-compare.yaml --methods grpo,scapo --suite world"
SETS = {"agree": 0.88, "conflict": 0.5, "neutral": 0.85, "noop": 0.7}
WITHIN = {"scapo": 0.95, "cf_grpo": 0.72, "entropy_top": 0.86, "scapo_all": 0.9}


def compare_folder(
    out: Path,
    methods: tuple[str, ...] = TEN,
    seeds: tuple[int, ...] = (1, 2, 3),
    steps: int = 20,
    problems: int = 6,
    failed: tuple[str, int] | None = None,
    write: bool = True,
) -> dict[str, Any]:
    """Trainings with their evaluations inside, and a compare.json made by the room that makes it."""
    plan = Plan(recipe=Path("recipes/world-compare.yaml"), methods=methods, seeds=seeds, out=out)
    outcomes = []
    for seed in seeds:
        for method in methods:
            cell = _cell(out / method / f"seed-{seed}", method, seed, steps, problems)
            if (method, seed) == failed:
                (cell.folder / "evaluate" / "results.json").unlink()
                outcomes.append(Outcome(cell, failed="evaluate", message="exit status 1; <b>no memory</b>"))
            else:
                outcomes.append(Outcome(cell))
    content = report(plan, outcomes, COMMAND)
    if write:
        write_json(out / "compare.json", content)
    return content


def _cell(folder: Path, method: str, seed: int, steps: int, problems: int) -> Cell:
    label = method_label(method)
    n_0 = steps // 5 if "scapo" in method else 0
    train_run(folder, label, seed=seed, steps=steps, n_0=n_0)
    _with_credit(folder / "metrics.jsonl", method, seed)
    lift = random.Random(f"{method}").uniform(-0.08, 0.12)
    noise = random.Random(f"{method} {seed}").gauss(0, 0.03)
    chances = {name: min(0.98, chance + lift + noise) for name, chance in SETS.items()}
    eval_run(folder / "evaluate", label, str(folder / "model"), chances, problems=problems)
    return Cell(
        method=method, seed=seed, folder=folder, stages={"train": (), "evaluate": ()}, recipe_sha256=""
    )


def _with_credit(path: Path, method: str, seed: int) -> None:
    """What the embedded world knows about a credit, every second step as where one rollout feeds two."""
    dice = random.Random(f"{method} {seed}")
    rows = [row for _, row in read_jsonl(path)]
    for row in rows[::2]:
        fade = 0.97 ** row["step"]
        within = 0.5 + (WITHIN.get(method, 0.5) - 0.5) * fade
        row["credit/shortcut_auc_within"] = within + (dice.gauss(0, 0.01) if method in WITHIN else 0)
        row["credit/shortcut_auc"] = 0.7 + 0.1 * (within - 0.5) + dice.gauss(0, 0.02)
        row["credit/on_shortcut"] = -0.6 * fade + dice.gauss(0, 0.03)
        row["credit/off_shortcut"] = 0.01
    write_jsonl(path, rows)


def decode_folder(path: Path, data: str = "runs/conflict.perturbed.jsonl", **extra: Any) -> Path:
    """One comparison of plain and filtered decoding: 40 problems, 3 lost, 9 gained."""
    counts = {"problems": 40, "both": 20, "lost": 3, "gained": 9, "neither": 8}
    write_json(
        path / "decode.json",
        {
            "kind": "decode",
            "model": "runs/world/base",
            "label": "base",
            "mass": 0.8,
            **counts,
            "accuracy_plain": 23 / 40,
            "accuracy_filtered": 29 / 40,
            "difference": 6 / 40,
            "stderr": 0.0837,
            "mcnemar_p": 0.1459960938,
            "rejections_per_response": 2.5,
            "rejections_per_step": 0.075,
            "mean_tokens": {"plain": 33.1, "filtered": 32.4},
            "truncation_rate": {"plain": 0.0, "filtered": 0.0},
            "kinds": ["paraphrase"],
            "left_out": {},
            "sampling": {"temperature": 1.0, "top_p": 1.0, "max_tokens": 64},
            "seed": 0,
            "versions": VERSIONS,
            "command": f"scapo decode runs/world/base {data} -o {path.name}",
            "created": CREATED,
            **extra,
        },
    )
    write_json(path / "settings.json", {"model": "runs/world/base", "data": data, "seed": 0})
    return path
