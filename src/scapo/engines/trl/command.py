"""`scapo train`."""

from pathlib import Path
from typing import Annotated

import typer

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Context settings for registering the command: settings of the recipe arrive as extra words."""


def train(
    context: typer.Context,
    recipe: Annotated[
        Path, typer.Argument(help="A recipe (YAML); it comes before all --key value settings.")
    ],
    output: Annotated[Path | None, typer.Option(help="Run directory; by default runs/RECIPE/LABEL.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last whole checkpoint, if any.")
    ] = False,
) -> None:
    """Train a model by a recipe. Any setting of it can be changed, for instance --method.credit outcome."""
    from scapo.engines.trl.recipe import load_recipe

    wanted = load_recipe(recipe, context.args)
    from scapo.engines.trl.run import train as run

    run(wanted, output or Path("runs") / recipe.stem / wanted.label.lower(), resume=resume)
