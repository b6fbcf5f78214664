"""`scapo perturb`: rewrite every problem of a file, by rule or by a language model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from scapo.errors import ScapoError
from scapo.perturb.kinds import SEMIFACTUAL, Kind


def perturb(
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="Problems: .jsonl, .parquet, .csv or hub id.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file (.jsonl).")],
    generator: Annotated[str, typer.Option(help="rules or llm.")] = "rules",
    kinds: Annotated[
        list[str] | None, typer.Option(help="Kinds, comma-separated; 'all' adds counterfactual to the four.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the rules.")] = 0,
    column: Annotated[
        list[str] | None, typer.Option(help="Column mapping such as problem=question; may be repeated.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N problems.")] = None,
) -> None:
    """Rewrite problems so that the answer stays: paraphrase, one typo, a light frame, an idle addition."""
    from rich.console import Console

    from scapo.perturb.progress import bar
    from scapo.perturb.run import run_rules
    from scapo.perturb.table import summary_table
    from scapo.problems import load_problems

    asked = parse_kinds(kinds)
    if generator not in ("rules", "llm"):
        raise ScapoError(f"--generator {generator} is unknown. Use rules or llm.")
    loaded = load_problems(source, columns=parse_columns(column))
    console = Console(stderr=True)
    if loaded.refused:
        first = loaded.refused[0]
        console.print(f"{len(loaded.refused):,} rows left out, the first (row {first.row}): {first.reason}")
    problems = loaded.problems[:limit]
    with bar(console, "by rule", len(problems)) as step:
        summary = run_rules(problems, out, kinds=asked, seed=seed, done=step)
    Console().print(summary_table(summary))
    console.print(f"Written: {out}")


def parse_kinds(values: Sequence[str] | None) -> list[Kind]:
    """Kinds from `a,b` or repeated flags, in the order of the enum."""
    names = {name.strip() for value in values or () for name in value.split(",") if name.strip()}
    if not names:
        return list(SEMIFACTUAL)
    unknown = names - set(Kind) - {"all"}
    if unknown:
        raise ScapoError(f"--kinds {', '.join(sorted(unknown))} is unknown. Use {', '.join(Kind)} or all.")
    return [kind for kind in Kind if kind in names or "all" in names]


def parse_columns(values: Sequence[str] | None) -> dict[str, str]:
    """`problem=question` pairs as a mapping from our names to the file's."""
    pairs = [value.partition("=") for value in values or ()]
    for name, equals, column in pairs:
        if not (name and equals and column):
            raise ScapoError(f"--column {name}{equals}{column} is not a pair. Write it as problem=question.")
    return {name: column for name, _, column in pairs}
