"""`scapo compare`."""

from pathlib import Path
from typing import Annotated

import typer

from scapo.errors import ScapoError

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Context settings for registering the command: settings of the recipe arrive as extra words."""


def compare(
    context: typer.Context,
    recipe: Annotated[
        Path, typer.Argument(help="A recipe (YAML); it comes before all --key value settings.")
    ],
    methods: Annotated[
        str, typer.Option(help="Names with commas (docs/methods.md); the first is the baseline.")
    ],
    seeds: Annotated[str, typer.Option(help="How many (5: seeds 1 to 5), or a list such as 1,4,9.")] = "5",
    jobs: Annotated[int, typer.Option(help="Runs at a time.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output folder; run again to go on.")
    ] = None,
    suite: Annotated[
        list[str] | None, typer.Option(help="As for scapo evaluate; none: training only.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="As for scapo evaluate: world=DIR, NAME=FILE.")
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Samples a test problem.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N problems of each test set.")] = None,
) -> None:
    """Train and evaluate methods x seeds, and say how far each is from the first method, with its error."""
    from scapo.compare.run import Evaluation, parse_methods, parse_seeds
    from scapo.compare.run import compare as run

    if not recipe.is_file():
        raise ScapoError(f"{recipe} is not a file. Recipes that come with SCAPO are in the folder recipes/.")
    run(
        recipe,
        parse_methods(methods),
        parse_seeds(seeds),
        out or Path("runs") / f"compare-{recipe.stem}",
        Evaluation(suites=suite or [], data=data or [], samples=samples, limit=limit),
        train_words=context.args,
        jobs=jobs,
    )
