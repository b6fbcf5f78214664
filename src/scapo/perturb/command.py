"""`scapo perturb`: rewrite every problem of a file, by rule or by a language model; look at what came out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from scapo.errors import ScapoError
from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.problems.columns import parse_columns

GENERATORS = ("rules", "llm")
MODEL, LOOK, HUB = "With --generator llm", "Looking and tidying", "Sharing"


def perturb(
    source: Annotated[
        str | None, typer.Argument(metavar="INPUT", help=".jsonl, .parquet, .csv or hub id.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Output file (.jsonl).")] = None,
    generator: Annotated[str, typer.Option(help="rules or llm.")] = "rules",
    kinds: Annotated[
        list[str] | None, typer.Option(help="Kinds, comma-separated; 'all' adds counterfactual to the four.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the rules; also sent to the endpoint.")] = 0,
    column: Annotated[
        list[str] | None, typer.Option(help="Column mapping such as problem=question; may be repeated.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N problems.")] = None,
    model: Annotated[
        str, typer.Option(envvar="SCAPO_LLM_MODEL", help="Model name at the endpoint.", rich_help_panel=MODEL)
    ] = "",
    base_url: Annotated[
        str,
        typer.Option(
            envvar=["SCAPO_LLM_BASE_URL", "OPENAI_BASE_URL"],
            help="OpenAI-compatible address.",
            rich_help_panel=MODEL,
        ),
    ] = "https://api.openai.com/v1",
    format: Annotated[
        str,
        typer.Option(
            help="json (structured output), text, or auto: json where the endpoint has it.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    temperature: Annotated[
        float | None,
        typer.Option(
            envvar="SCAPO_LLM_TEMPERATURE", help="The model's own if not given.", rich_help_panel=MODEL
        ),
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(envvar="SCAPO_LLM_MAX_TOKENS", help="Tokens of one reply.", rich_help_panel=MODEL)
    ] = 4096,
    concurrency: Annotated[
        int,
        typer.Option(
            envvar="SCAPO_LLM_CONCURRENCY", help="Requests under way at once.", rich_help_panel=MODEL
        ),
    ] = 16,
    attempts: Annotated[
        int, typer.Option(help="Times to ask for a kind, with the refusal's reason.", rich_help_panel=MODEL)
    ] = 3,
    timeout: Annotated[float, typer.Option(help="Seconds for one reply.", rich_help_panel=MODEL)] = 120.0,
    patience: Annotated[
        float,
        typer.Option(help="Seconds without any answer after which the run stops.", rich_help_panel=MODEL),
    ] = 600.0,
    judge: Annotated[
        bool,
        typer.Option("--judge", help="Ask whether both texts have the same answer.", rich_help_panel=MODEL),
    ] = False,
    judge_model: Annotated[
        str | None,
        typer.Option(envvar="SCAPO_LLM_JUDGE_MODEL", help="The model if not given.", rich_help_panel=MODEL),
    ] = None,
    max_requests: Annotated[
        int | None,
        typer.Option(help="Stop after so many requests, earlier runs included.", rich_help_panel=MODEL),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(help="Stop before so many dollars, earlier runs included.", rich_help_panel=MODEL),
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option(
            envvar="SCAPO_LLM_PRICE_IN", help="Dollars per million prompt tokens.", rich_help_panel=MODEL
        ),
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option(
            envvar="SCAPO_LLM_PRICE_OUT", help="Dollars per million reply tokens.", rich_help_panel=MODEL
        ),
    ] = None,
    prompt_file: Annotated[
        Path | None, typer.Option(help="Your own prompt in the place of ours.", rich_help_panel=MODEL)
    ] = None,
    compact: Annotated[
        bool,
        typer.Option("--compact", help="Drop what is superseded in OUT's journal.", rich_help_panel=LOOK),
    ] = False,
    inspect: Annotated[
        Path | None,
        typer.Option(help="Show an output side by side, here and as an HTML page.", rich_help_panel=LOOK),
    ] = None,
    push_to: Annotated[
        str | None,
        typer.Option(help="Push OUT to this data set on the hub, with a card.", rich_help_panel=HUB),
    ] = None,
    pull_from: Annotated[
        str | None, typer.Option(help="Fetch a pushed data set into OUT.", rich_help_panel=HUB)
    ] = None,
) -> None:
    """Rewrite problems so that the answer stays: paraphrase, one typo, a light frame, an idle addition."""
    from rich.console import Console

    from scapo.perturb import actions

    console = Console(stderr=True)
    if inspect is not None:
        return actions.inspect(inspect, parse_kinds(kinds) if kinds else None, limit, out)
    if out is None:
        raise ScapoError("No output is named. Give one with -o OUT.jsonl.")
    if compact:
        return actions.compact_journal(out, console)
    if pull_from is not None:
        return actions.pull_from_hub(pull_from, out, console)
    if source is None and push_to is None:
        raise ScapoError(
            "No input is named. Give a file or a hub id, or --inspect FILE, --compact, --push-to."
        )
    if generator not in GENERATORS:
        raise ScapoError(f"--generator {generator} is unknown. Use {' or '.join(GENERATORS)}.")
    if source is not None:
        asked, columns = parse_kinds(kinds), parse_columns(column)
        if generator == "llm":
            settings = actions.llm_settings(
                model=model, base_url=base_url, format=format, temperature=temperature, seed=seed,
                max_tokens=max_tokens, concurrency=concurrency, attempts=attempts, timeout=timeout,
                patience=patience, judge=judge, judge_model=judge_model, max_requests=max_requests,
                max_cost=max_cost, price_in=price_in, price_out=price_out, prompt_file=prompt_file,
            )  # fmt: skip
            problems = actions.load(source, columns, limit, console)
            summary = actions.by_llm(problems, out, asked, settings, console)
        else:
            problems = actions.load(source, columns, limit, console)
            summary = actions.by_rules(problems, out, asked, seed, console)
        actions.report(summary, out, console)
    if push_to is not None:
        actions.push_to_hub(out, push_to, console)


def parse_kinds(values: Sequence[str] | None) -> list[Kind]:
    """Kinds from `a,b` or repeated flags, in the order of the enum."""
    names = {name.strip() for value in values or () for name in value.split(",") if name.strip()}
    if not names:
        return list(SEMIFACTUAL)
    unknown = names - set(Kind) - {"all"}
    if unknown:
        raise ScapoError(f"--kinds {', '.join(sorted(unknown))} is unknown. Use {', '.join(Kind)} or all.")
    return [kind for kind in Kind if kind in names or "all" in names]
