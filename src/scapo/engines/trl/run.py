"""`scapo train`: from a recipe to a run directory with metrics, samples, checkpoints and the final model."""

import os
import sys
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from rich.console import Console
from transformers import ProgressCallback
from transformers.trainer_callback import PrinterCallback
from transformers.utils import logging as transformers_logging

from scapo.engines.trl import data
from scapo.engines.trl.config import ScapoConfig
from scapo.engines.trl.model import load_model, load_tokenizer, lora_config, stop_ids
from scapo.engines.trl.progress import ShowProgress, StopAfterStep
from scapo.engines.trl.recipe import Recipe
from scapo.engines.trl.rundir import checkpoint_to_resume, is_finished, run_config
from scapo.engines.trl.settings import scapo_config
from scapo.engines.trl.trainer import ScapoTrainer
from scapo.files import output_lock, write_json
from scapo.problems import Problem
from scapo.reward import boxed_reward


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
    """Train, or go on training; returns the folder of the final model, None when stopped before the end.

    One training at a time may write to `output`; its first process holds the lock for all of them.
    """
    with output_lock(output) if os.environ.get("RANK", "0") == "0" else nullcontext():
        return _train(recipe, output, resume, command)


def _train(recipe: Recipe, output: Path, resume: bool, command: str | None) -> Path | None:
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    transformers_logging.disable_progress_bar()
    run = prepare(recipe, output, resume)
    if run is None:
        return output / "model"
    main = run.config.process_index == 0
    console = Console(quiet=not main)
    model = load_model(recipe)
    model.generation_config.eos_token_id = stop_ids(recipe, run.tokenizer, model)
    for line in describe(run, model):
        console.print(line, highlight=False, soft_wrap=True)
    dataset = data.as_dataset(run.problems, run.config.probed_kinds)
    if main:
        content = run_config(recipe, run.config, dataset, command or " ".join(sys.argv))
        write_json(output / "config.json", content)
    trainer = build_trainer(run, model, dataset, console)
    trainer.train(resume_from_checkpoint=str(run.resume_from) if run.resume_from else None)
    if trainer.state.global_step < trainer.state.max_steps:
        console.print(
            f"Stopped at step {trainer.state.global_step}. Go on with --resume --output {output}",
            highlight=False,
            soft_wrap=True,
        )
        return None
    trainer.save_model(str(output / "model"))
    if main:
        run.tokenizer.save_pretrained(output / "model")
    console.print(f"Done: {output / 'model'}", highlight=False, soft_wrap=True)
    return output / "model"


def prepare(recipe: Recipe, output: Path, resume: bool) -> Prepared | None:
    """Check settings, directory, data and tokenizer; None when the run has already finished."""
    set_threads(recipe.threads)
    config = scapo_config(recipe, str(output), processes=int(os.environ.get("WORLD_SIZE", "1")))
    resume_from = checkpoint_to_resume(recipe, config, output, resume)
    if resume_from and is_finished(resume_from, config, output):
        print(f"{output} has already reached step {config.max_steps}; its model is {output / 'model'}.")
        return None
    problems, notes = data.checked_problems(recipe, config)
    tokenizer = load_tokenizer(recipe.model)
    kept, more = data.within_length(problems, recipe, config, tokenizer)
    return Prepared(
        recipe=recipe,
        config=config,
        output=output,
        tokenizer=tokenizer,
        problems=kept,
        notes=[*notes, *more],
        resume_from=resume_from,
    )


def build_trainer(run: Prepared, model: Any, dataset: Dataset, console: Console) -> ScapoTrainer:
    """The trainer with our progress instead of transformers' printing."""
    trainer = ScapoTrainer(
        model,
        boxed_reward,
        run.config,
        train_dataset=dataset,
        processing_class=run.tokenizer,
        peft_config=lora_config(run.recipe),
        callbacks=[ShowProgress(run.recipe.label, console), StopAfterStep()],
    )
    for unwanted in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(unwanted)
    return trainer


def describe(run: Prepared, model: Any) -> list[str]:
    """What the run will do, before it does it."""
    config, sizes, schedule = run.config, run.recipe.rollout, run.config.schedule
    ids = model.generation_config.eos_token_id
    millions = sum(p.numel() for p in model.parameters()) / 1e6
    return [
        *run.notes,
        f"{run.recipe.label}: {run.recipe.model} ({millions:.1f} M parameters, {run.recipe.dtype})",
        f"credit {config.credit}, objective {config.objective}"
        + (
            f", lambda {schedule.lambda_0:g} for the first {schedule.n_0} optimiser steps"
            if config.probes
            else ""
        ),
        f"{config.max_steps} optimiser steps; a rollout of {sizes['prompts']} prompts x {sizes['responses']} "
        f"responses of at most {sizes['max_tokens']} tokens feeds {sizes['updates']} of them",
        f"stop ids {ids} ({', '.join(map(repr, run.tokenizer.convert_ids_to_tokens(ids)))})",
        f"run directory {run.output}"
        + (f", going on after {run.resume_from.name}" if run.resume_from else ""),
    ]


def set_threads(threads: int | None) -> None:
    """Torch threads on purpose: the recipe's number, OMP_NUM_THREADS, or this process's share of the cores.

    Threads beyond the free cores make small models several times slower.
    """
    if threads is None and "OMP_NUM_THREADS" in os.environ:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(threads or max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
