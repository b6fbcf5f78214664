"""`scapo world` writes the embedded world; `scapo world-pretrain` makes its base policy anew."""

from pathlib import Path
from typing import Annotated

import typer

from scapo.problems.world.stories import TRAIN_AGREE_SHARE


def world(
    out_dir: Annotated[
        Path, typer.Argument(help="Folder for base/ (the policy) and one JSONL file per split.")
    ],
    train: Annotated[int, typer.Option(min=1, help="Training problems.")] = 1000,
    test: Annotated[int, typer.Option(min=1, help="Problems in each of the four test sets.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the problems.")] = 0,
    agree_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of training scenes that agree with the verb.")
    ] = TRAIN_AGREE_SHARE,
) -> None:
    """Write the embedded world: a base policy, training problems, four test sets."""
    from rich.console import Console

    from scapo.problems.world.write import summary_table, write_world

    Console().print(
        summary_table(write_world(out_dir, train=train, test=test, seed=seed, agree_share=agree_share))
    )


def world_pretrain(
    out_dir: Annotated[Path, typer.Argument(help="Folder for the new checkpoint.")],
    seed: Annotated[int, typer.Option(min=0, help="Seed of texts and weights; 0 is the shipped one.")] = 0,
    steps: Annotated[
        int, typer.Option(min=2, help="Optimiser steps; the default is the shipped one.")
    ] = 2000,
    threads: Annotated[int, typer.Option(min=1, help="Threads; another number changes the last bits.")] = 1,
    problems: Annotated[int, typer.Option(min=2, help="Test problems per split for the model card.")] = 200,
) -> None:
    """Pre-train the embedded world's base policy anew (about 15 minutes on one core) and write its card."""
    import torch
    from rich.console import Console

    from scapo.problems.world.batches import Pretraining
    from scapo.problems.world.card import write_card
    from scapo.problems.world.measure import measure, measure_table
    from scapo.problems.world.pretrain import pretrain

    torch.set_num_threads(threads)
    settings, console = Pretraining(seed=seed, steps=steps), Console()
    seconds = pretrain(out_dir, settings)
    console.print(f"Pre-trained in {seconds / 60:.1f} minutes. Measuring on {problems} problems a split ...")
    results = measure(out_dir, problems=problems)
    write_card(out_dir, settings, results, problems)
    console.print(measure_table(results))
    console.print(f"The checkpoint and its card are in {out_dir}.")
