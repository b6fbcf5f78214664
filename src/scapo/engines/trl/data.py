"""From a file of problems to the dataset that TRL trains on, checked before a model loads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset

from scapo.engines.trl.config import ScapoConfig
from scapo.engines.trl.recipe import Recipe
from scapo.engines.trl.shortcut import WORLD
from scapo.errors import ScapoError
from scapo.problems import Problem, chat_prompt, drop_overlong, load_problems
from scapo.reward import check_prompt, gold_problems


def checked_problems(recipe: Recipe, config: ScapoConfig) -> tuple[list[Problem], list[str]]:
    """The problems of the recipe's training set, and what there is to say about them.

    Raises:
        ScapoError: when they can't be read, or lack rewrites altogether.
    """
    path = str(recipe.train["path"])
    problems, counts = load_train(recipe.train)
    check_prompt(chat_prompt(problems[0])[-1]["content"])
    lacking = check_perturbations(problems, config, path)
    said = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    notes = [f"{len(problems)} problems from {path} ({said})"]
    if lacking:
        notes.append(f"{lacking} problems have no rewrite: their tokens get no correction")
    return problems, notes


def within_length(
    problems: Sequence[Problem], recipe: Recipe, config: ScapoConfig, tokenizer: Any
) -> tuple[list[Problem], list[str]]:
    """The problems whose prompt and rewrites are short enough, and a note on the others.

    Raises:
        ScapoError: when they are fewer than one rollout takes.
    """
    path, limit = str(recipe.train["path"]), int(recipe.train["max_prompt_tokens"])
    kept, dropped = drop_overlong(problems, tokenizer, limit, config.probed_kinds)
    notes = (
        [f"{len(dropped)} problems left out: a prompt or a rewrite is over {limit} tokens"] if dropped else []
    )
    if len(kept) < recipe.rollout["prompts"]:
        raise ScapoError(
            f"{path} leaves {len(kept)} problems within {limit} prompt tokens, but one rollout takes "
            f"{recipe.rollout['prompts']} (rollout.prompts). Use more problems, a smaller rollout, or a "
            "larger train.max_prompt_tokens."
        )
    return kept, notes


def load_train(section: dict[str, Any]) -> tuple[list[Problem], dict[str, int]]:
    """Problems of a recipe's `train` section whose answer can be verified, and the loader's counts.

    Raises:
        ScapoError: when the source can't be read, or no problem is left; with the first reasons.
    """
    path = section["path"]
    if str(path).endswith((".jsonl", ".parquet", ".csv")) and not Path(path).is_file():
        raise ScapoError(
            f"train.path is {path}, which is not a file. Make it with `scapo perturb`, or mend the path."
        )
    columns = section["columns"] or None
    loaded = load_problems(path, columns=columns, split=section["split"], check=gold_problems)
    if not loaded.problems:
        reasons = "; ".join(f"row {refusal.row}: {refusal.reason}" for refusal in loaded.refused[:3])
        raise ScapoError(f"{path} holds no usable problem ({len(loaded.refused)} refused). {reasons}")
    return loaded.problems, loaded.counts | {"refused": len(loaded.refused)}


def check_perturbations(problems: Sequence[Problem], config: ScapoConfig, path: str) -> int:
    """How many problems have none of the rewrites that the method probes.

    Raises:
        ScapoError: when all lack them, with the command that makes them.
    """
    if not config.probes:
        return 0
    lacking = [
        problem.id for problem in problems if not set(problem.perturbations) & set(config.probed_kinds)
    ]
    if len(lacking) == len(problems):
        raise ScapoError(
            f"No problem in {path} has a rewrite of the kinds {', '.join(config.probed_kinds)}, which credit "
            f"'semifactual' needs. Make them with `scapo perturb {path} -o OUT.jsonl --kinds "
            f"{','.join(config.probed_kinds)}` and set train.path to OUT.jsonl, or train GRPO with "
            "--method.credit outcome."
        )
    return len(lacking)


def as_dataset(problems: Sequence[Problem], kinds: Sequence[str]) -> Dataset:
    """Columns id, prompt (chat), problem, answer, perturbations (None for a missing kind).

    Problems of the embedded world keep their `world` column: it tells which tokens carry its shortcut.
    """
    of_world = all(problem.extra.get(WORLD) for problem in problems)
    return Dataset.from_list(
        [
            {
                "id": problem.id,
                "prompt": chat_prompt(problem),
                "problem": problem.problem,
                "answer": problem.answer,
                "perturbations": {kind: problem.perturbations.get(kind) for kind in kinds},
                **({WORLD: problem.extra[WORLD]} if of_world else {}),
            }
            for problem in problems
        ]
    )
