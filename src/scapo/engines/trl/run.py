"""`scapo train`: from a recipe to a run directory with metrics, samples, checkpoints and the final model."""

import json
import os
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from rich.console import Console
from transformers import AutoModelForCausalLM, AutoTokenizer, ProgressCallback
from transformers.trainer_callback import PrinterCallback

from scapo.engines.trl import checkpoint, data
from scapo.engines.trl.config import ScapoConfig
from scapo.engines.trl.progress import ShowProgress, StopAfterStep
from scapo.engines.trl.recipe import METHOD, Recipe
from scapo.engines.trl.settings import scapo_config
from scapo.engines.trl.trainer import ScapoTrainer
from scapo.errors import ScapoError
from scapo.files import fingerprint, write_json
from scapo.problems import Problem
from scapo.reward import boxed_reward
from scapo.versions import versions

FIXED = ("model", "dtype", "train", "method", "rollout", "lora", "stop_tokens")
"""Recipe sections that a resumed run can't change: the data order, the schedule or the weights depend on them."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A run that has been checked and is ready to load its model."""

    recipe: Recipe
    config: ScapoConfig
    output: Path
    tokenizer: Any
    problems: list[Problem]
    notes: list[str]
    resume_from: Path | None


def train(recipe: Recipe, output: Path, resume: bool = False, command: str | None = None) -> Path | None:
    """Train, or continue training; returns the folder of the final model, None when stopped before its end."""
    run = prepare(recipe, output, resume)
    if run is None:
        return output / "model"
    main = run.config.process_index == 0
    console = Console(quiet=not main)
    model = load_model(recipe)
    model.generation_config.eos_token_id = stop_ids(recipe, run.tokenizer, model)
    for line in describe(run, model):
        console.print(line, highlight=False)
    dataset = data.as_dataset(run.problems, run.config.probed_kinds)
    if main:
        write_json(output / "config.json", run_config(run, dataset, command or " ".join(sys.argv)))
    trainer = build_trainer(run, model, dataset, console)
    trainer.train(resume_from_checkpoint=str(run.resume_from) if run.resume_from else None)
    if trainer.state.global_step < trainer.state.max_steps:
        console.print(f"Stopped at step {trainer.state.global_step}. Go on with --resume --output {output}")
        return None
    trainer.save_model(str(output / "model"))
    if main:
        run.tokenizer.save_pretrained(output / "model")
    console.print(f"Done: {output / 'model'}")
    return output / "model"


def prepare(recipe: Recipe, output: Path, resume: bool) -> Prepared | None:
    """Check settings, directory, data and tokenizer; None when the run has already finished."""
    set_threads(recipe.threads)
    config = scapo_config(recipe, str(output), processes=int(os.environ.get("WORLD_SIZE", "1")))
    resume_from = checkpoint_to_resume(recipe, config, output, resume)
    if resume_from and _finished(resume_from, config, output):
        print(f"{output} has already reached step {config.max_steps}; its model is {output / 'model'}.")
        return None
    problems, counts = data.load_train(recipe.train)
    path = str(recipe.train["path"])
    lacking = data.check_perturbations(problems, config, path)
    tokenizer = load_tokenizer(recipe.model)
    limit = recipe.train.get("max_prompt_tokens", data.MAX_PROMPT_TOKENS)
    kept = data.within_length(problems, tokenizer, limit, config.probed_kinds if config.probes else ())
    notes = [f"{len(kept)} problems from {path} ({counts})"]
    if len(kept) < len(problems):
        notes.append(f"{len(problems) - len(kept)} problems left out: a prompt is longer than {limit} tokens")
    if lacking:
        notes.append(f"{lacking} problems have no rewrite: their tokens get no correction")
    if len(kept) < config.generation_batch_size // config.num_generations:
        raise ScapoError(
            f"{path} leaves {len(kept)} problems, but one rollout takes {recipe.rollout.get('prompts')} "
            "(rollout.prompts). Use more problems or a smaller rollout."
        )
    return Prepared(
        recipe=recipe,
        config=config,
        output=output,
        tokenizer=tokenizer,
        problems=kept,
        notes=notes,
        resume_from=resume_from,
    )


def build_trainer(run: Prepared, model: Any, dataset: Dataset, console: Console) -> ScapoTrainer:
    """The trainer with our progress instead of transformers' printing."""
    peft_config = None
    if run.recipe.lora:
        from peft import LoraConfig

        names = {"r": "r", "alpha": "lora_alpha", "dropout": "lora_dropout", "target_modules": "target_modules"}
        chosen = {names[key]: value for key, value in run.recipe.lora.items()}
        peft_config = LoraConfig(task_type="CAUSAL_LM", **chosen)
    trainer = ScapoTrainer(
        model,
        boxed_reward,
        run.config,
        train_dataset=dataset,
        processing_class=run.tokenizer,
        peft_config=peft_config,
        callbacks=[ShowProgress(run.recipe.label, console), StopAfterStep()],
    )
    for unwanted in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(unwanted)
    return trainer


def load_tokenizer(model: str) -> Any:
    """The model's tokenizer, padding on the left.

    Raises:
        ScapoError: when it can't be found or has no chat template.
    """
    folder, gguf = _gguf(model)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left", **gguf)
    except (OSError, ValueError) as error:
        raise ScapoError(f"No tokenizer found for model {model!r}: {str(error).splitlines()[0]}") from error
    if not tokenizer.chat_template:
        raise ScapoError(f"The tokenizer of {model} has no chat template, which the prompt needs.")
    return tokenizer


def load_model(recipe: Recipe) -> Any:
    """The policy in the recipe's dtype. A .gguf file is unpacked to plain weights, so that it can be trained."""
    folder, gguf = _gguf(recipe.model)
    arguments: dict[str, Any] = dict(gguf)
    if gguf:
        from transformers import GgufConfig

        arguments["quantization_config"] = GgufConfig(dequantize=True)
    return AutoModelForCausalLM.from_pretrained(folder, dtype=recipe.dtype, **arguments)


def _gguf(model: str) -> tuple[str, dict[str, str]]:
    path = Path(model)
    return (str(path.parent), {"gguf_file": path.name}) if path.suffix == ".gguf" else (model, {})


def stop_ids(recipe: Recipe, tokenizer: Any, model: Any) -> list[int]:
    """Every id that ends a response: the tokenizer's EOS, the model's own, and the recipe's `stop_tokens`."""
    declared = model.generation_config.eos_token_id
    ids = [tokenizer.eos_token_id, *(declared if isinstance(declared, list) else [declared])]
    known = tokenizer.get_vocab()
    for token in recipe.stop_tokens:
        if token not in known:
            raise ScapoError(f"stop_tokens holds {token!r}, which the tokenizer of {recipe.model} does not know.")
        ids.append(known[token])
    return list(dict.fromkeys(number for number in ids if number is not None))


def describe(run: Prepared, model: Any) -> list[str]:
    """What the run will do, before it does it."""
    config = run.config
    prompts = config.generation_batch_size // config.num_generations
    ids = model.generation_config.eos_token_id
    schedule = config.schedule
    size = sum(p.numel() for p in model.parameters()) / 1e6
    return [
        *run.notes,
        f"{run.recipe.label}: {run.recipe.model} ({size:.1f} M parameters, {run.recipe.dtype})",
        f"credit {config.credit}, objective {config.objective}, lambda {schedule.lambda_0} to step {schedule.n_0}",
        f"{config.max_steps} optimiser steps; {prompts} prompts x {config.num_generations} responses per rollout feed "
        f"{config.updates_per_rollout} of them; at most {config.max_completion_length} tokens a response",
        f"stop ids {ids} ({', '.join(map(repr, run.tokenizer.convert_ids_to_tokens(ids)))})",
        f"run directory {run.output}" + (f", going on after {run.resume_from.name}" if run.resume_from else ""),
    ]


def run_config(run: Prepared, dataset: Dataset, command: str) -> dict[str, Any]:
    """What config.json holds (docs/files.md)."""
    path = str(run.recipe.train["path"])
    rows = checkpoint.fingerprint(dataset, dataset.column_names)
    return {
        "kind": "train",
        "label": run.recipe.label,
        "recipe": resolved(run.recipe, run.config),
        "seed": run.config.seed,
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "data": {
            "path": path,
            "sha256": fingerprint(path) if Path(path).is_file() else rows,
            "problems": len(run.problems),
        },
    }


def resolved(recipe: Recipe, config: ScapoConfig) -> dict[str, Any]:
    """The recipe with every setting at the value it has in this run."""
    plain = json.loads(json.dumps(config.to_dict(), default=str))
    method = {name: plain[name] for name in METHOD}
    return asdict(recipe) | {"method": method, "trainer": {k: v for k, v in plain.items() if k not in method}}


def checkpoint_to_resume(recipe: Recipe, config: ScapoConfig, output: Path, resume: bool) -> Path | None:
    """The checkpoint to go on from; None to start anew.

    Raises:
        ScapoError: when the directory holds another run, or one that this recipe does not continue.
    """
    path = output / "config.json"
    if not path.exists():
        return None
    if not resume:
        raise ScapoError(
            f"{output} already holds a run. Go on with it by --resume, choose another --output, or delete it."
        )
    before = json.loads(path.read_text(encoding="utf-8"))
    now = resolved(recipe, config)
    for name in FIXED:
        if before["recipe"].get(name) != now[name]:
            raise ScapoError(
                f"{output} was started with {name} = {before['recipe'].get(name)}, but now it is {now[name]}. A run "
                "can't change that on the way: restore it, or choose another --output."
            )
    source = Path(str(recipe.train["path"]))
    if source.is_file() and fingerprint(source) != before["data"]["sha256"]:
        raise ScapoError(
            f"{source} has changed since {output} was started (its SHA-256 differs), so its data order can't be "
            "continued. Restore the file, or choose another --output."
        )
    return checkpoint.last_complete(output)


def _finished(resume_from: Path, config: ScapoConfig, output: Path) -> bool:
    step = json.loads((resume_from / "trainer_state.json").read_text(encoding="utf-8"))["global_step"]
    return bool(config.max_steps > 0 and step >= config.max_steps and (output / "model" / "config.json").exists())


def set_threads(threads: int | None) -> None:
    """Torch threads on purpose: the recipe's number, else OMP_NUM_THREADS, else this process's share of the cores.

    Threads beyond the free cores make small models several times slower.
    """
    if threads is None and "OMP_NUM_THREADS" in os.environ:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(threads or max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
