"""`scapo evaluate`: sample and score a model on the paper's suites, the world or a file; compare two runs."""

from pathlib import Path
from typing import Annotated

import typer

from scapo.errors import ScapoError


def evaluate(
    model: Annotated[
        str | None,
        typer.Argument(help="A folder, a hub id, or an Inspect model such as vllm/..., openai-api/..."),
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(help="paper, math, ood, world, a benchmark or a file; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output folder; the same command again resumes.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Local copies: NAME=FILE, world=DIR, or a folder of NAME.jsonl.")
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Samples a problem (default: as in the paper).")] = None,
    temperature: Annotated[float | None, typer.Option(help="Default 0.7; world 1.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Default 0.9; world 1.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Response limit (default 16384; world 256).")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N problems of each set.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    label: Annotated[str | None, typer.Option(help="Name in tables; default: the training run's.")] = None,
    pass_k: Annotated[
        str | None,
        typer.Option(help="Show pass@k for these k, such as 1,8,64 (results.json: powers of two)."),
    ] = None,
    skip_missing: Annotated[bool, typer.Option(help="Evaluate the sets that are at hand.")] = False,
    batch_size: Annotated[int | None, typer.Option(help="Local models: responses sampled together.")] = None,
    device: Annotated[str | None, typer.Option(help="Local models: cpu, cuda, ...")] = None,
    dtype: Annotated[str | None, typer.Option(help="Local models: float32, bfloat16, ...")] = None,
    gguf_file: Annotated[str | None, typer.Option(help="Local models: a GGUF file in the folder.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible endpoint.")] = None,
    max_connections: Annotated[int | None, typer.Option(help="Requests under way at once.")] = None,
    model_arg: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the Inspect provider.")] = None,
    compare: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Two finished runs: paired difference, no sampling.")
    ] = None,
    against_paper: Annotated[
        bool, typer.Option("--against-paper", help="The paper's rows beside ours.")
    ] = False,
) -> None:
    """Evaluate a model: seeded samples, our reward with its reasons, errors clustered by problem."""
    from rich.console import Console

    from scapo.evaluate.choose import choose_model, default_batch_size, parse_args, parse_ks
    from scapo.evaluate.run import evaluate as run
    from scapo.evaluate.setting import Overrides, plan_sets
    from scapo.evaluate.show import progress, show_comparison, show_plan, show_results

    console = Console()
    if compare is not None:
        show_comparison(console, *compare, out)
        return
    if model is None or not suite:
        raise ScapoError("Give a model and at least one --suite, or --compare RUN_A RUN_B.")
    overrides = Overrides(
        samples=samples, temperature=temperature, top_p=top_p, max_tokens=max_tokens, limit=limit
    )
    plans = plan_sets(suite, data or [], overrides, skip_missing)
    ks = parse_ks(pass_k, plans)
    local = {"batch_size": batch_size, "device": device, "dtype": dtype, "gguf_file": gguf_file}
    chosen = choose_model(
        model, label=label, base_url=base_url, max_connections=max_connections, local=local,
        batch_size=default_batch_size(plans),
        args=parse_args(model_arg or []),
    )  # fmt: skip
    folder = out or Path("runs") / f"evaluate-{_slug(chosen.label)}"
    show_plan(console, plans, folder)
    with progress(console, plans, folder, chosen.label) as step:
        results = run(chosen, plans, folder, seed=seed, ks=ks, on_sample=step)
    show_results(console, results, folder, pass_k=ks is not None, against_paper=against_paper)


def _slug(label: str) -> str:
    return "".join(character if character.isalnum() or character in "-._" else "-" for character in label)
