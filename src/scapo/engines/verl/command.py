"""`scapo problems to-verl`."""

from pathlib import Path
from typing import Annotated

import typer


def to_verl(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="Problems, perturbed or not: .jsonl, .parquet, .csv.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .parquet file to write.")],
    column: Annotated[
        list[str] | None, typer.Option(help="Column mapping such as problem=question; may be repeated.")
    ] = None,
    split: Annotated[str, typer.Option(help="Split of a hub id.")] = "train",
) -> None:
    """Write problems as the Parquet file that `python -m scapo.engines.verl` trains on."""
    from rich.console import Console

    from scapo.engines.verl.data import verl_rows, write_parquet
    from scapo.errors import ScapoError
    from scapo.problems import load_problems, parse_columns
    from scapo.reward import gold_problems

    console = Console()
    if output.suffix != ".parquet":
        raise ScapoError(f"The output is {output}; verl knows a Parquet file by its ending .parquet.")
    with console.status("reading"):
        loaded = load_problems(source, columns=parse_columns(column), split=split, check=gold_problems)
    if not loaded.problems:
        raise ScapoError(f"{source} holds no usable problem; `scapo problems check {source}` tells why.")
    write_parquet(verl_rows(loaded.problems), output)
    rewritten = sum(bool(problem.perturbations) for problem in loaded.problems)
    console.print(
        f"{len(loaded.problems):,} problems, {rewritten:,} with rewrites, {len(loaded.refused):,} refused: {output}",
        highlight=False,
        soft_wrap=True,
    )
