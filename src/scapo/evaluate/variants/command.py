"""`scapo problems noop` and `scapo problems thinkbench`: build the unpublished variants of a benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scapo.errors import ScapoError

if TYPE_CHECKING:
    from scapo.problems import Problem

_Input = Annotated[str, typer.Argument(metavar="INPUT", help="Problems: .jsonl, .parquet, .csv or hub id.")]
_Out = Annotated[Path, typer.Option("--out", "-o", help="Output file (.jsonl).")]
_Seed = Annotated[int, typer.Option(help="Seed of the rules.")]


def noop(
    source: _Input,
    out: _Out,
    generator: Annotated[str, typer.Option(help="rules or llm.")] = "rules",
    seed: _Seed = 0,
    model: Annotated[str, typer.Option(envvar="SCAPO_LLM_MODEL", help="llm: model name.")] = "",
    base_url: Annotated[
        str, typer.Option(envvar="SCAPO_LLM_BASE_URL", help="llm: address of the endpoint.")
    ] = "https://api.openai.com/v1",
) -> None:
    """Add to each problem one sentence with a number that changes nothing (NoOp)."""
    from scapo.evaluate.variants.insertion import insert
    from scapo.evaluate.variants.noop import RULES_VERSION, noop_sentence
    from scapo.files import write_jsonl

    if generator not in ("rules", "llm"):
        raise ScapoError(f"--generator {generator} is unknown. Use rules or llm.")
    problems = _load(source)
    if generator == "llm":
        sentences = _by_model(problems, out, model, base_url, seed)
        origin: dict[str, Any] = {"generator": "llm", "version": "noop-1", "model": model, "seed": seed}
    else:
        sentences = [noop_sentence(problem.problem, problem.answer, seed) for problem in problems]
        origin = {"generator": "rules", "version": RULES_VERSION, "seed": seed}
    rows = [
        {
            "id": f"{problem.id}-noop",
            "problem": insert(problem.problem, sentence),
            "answer": problem.answer,
            "source_id": problem.id,
            "sentence": sentence,
            "provenance": origin,
        }
        for problem, sentence in zip(problems, sentences, strict=True)
        if sentence
    ]
    write_jsonl(out, rows)
    _tell(out, len(rows), len(problems), [p.id for p, s in zip(problems, sentences, strict=True) if not s])


def thinkbench(source: _Input, out: _Out, seed: _Seed = 0) -> None:
    """Write four meaning-preserving variants of each problem (ThinkBench).

    Rewrites that INPUT holds already (from scapo perturb, by rule or by a language model) are used first.
    """
    from scapo.evaluate.variants.thinkbench import VARIANTS, thinkbench_rows
    from scapo.files import write_jsonl

    problems = _load(source)
    variants = [thinkbench_rows(problem, seed) for problem in problems]
    rows = [row for found in variants for row in found]
    write_jsonl(out, rows)
    short = [p.id for p, found in zip(problems, variants, strict=True) if len(found) < VARIANTS]
    _tell(out, len(rows), VARIANTS * len(problems), short)


def _load(source: str) -> "Sequence[Problem]":
    from scapo.problems import load_problems

    problems = load_problems(source).problems
    if not problems:
        raise ScapoError(f"{source} holds no usable problem. Give a file with one problem a line.")
    return problems


def _by_model(
    problems: "Sequence[Problem]", out: Path, model: str, base_url: str, seed: int
) -> list[str | None]:
    from rich.console import Console

    from scapo.evaluate.variants.noop_llm import noop_by_model
    from scapo.perturb.llm.settings import LlmSettings
    from scapo.perturb.progress import bar

    settings = LlmSettings(model=model, base_url=base_url, seed=seed)
    journal = out.with_name(f".{out.name}.noop-llm.jsonl")
    with bar(Console(stderr=True), f"noop by {model}", len(problems)) as step:
        return [sentence for sentence, _ in noop_by_model(problems, journal, settings, step)]


def _tell(out: Path, made: int, wanted: int, without: list[str]) -> None:
    from rich.console import Console

    console = Console()
    console.print(f"{made} of {wanted} variants written to {out}.", markup=False, highlight=False)
    if without:
        names = ", ".join(without[:10]) + (", ..." if len(without) > 10 else "")
        console.print(f"No safe variant for {len(without)} problems: {names}", markup=False, highlight=False)
