"""`scapo decode`: d-filtered decoding against plain sampling on the same problems."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


def decode(
    model: Annotated[str, typer.Argument(help="A model folder or hub id.")],
    perturbed: Annotated[Path, typer.Argument(help="Problems with their rewrites, from scapo perturb.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder; default: runs/decode-LABEL.")
    ] = None,
    filter_mass: Annotated[
        float, typer.Option(min=0.0, max=0.999, help="Clean-policy mass that may be masked.")
    ] = 0.8,
    problems: Annotated[
        int, typer.Option(min=1, help="Take the first N problems that have rewrites.")
    ] = 1000,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Response limit; default: 8192, or half the model's context.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Problems decoded together, each in all contexts.")
    ] = 16,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: cuda where there is one.")] = None,
    dtype: Annotated[
        str | None, typer.Option(help="float32, bfloat16, auto; default: float32 on a CPU.")
    ] = None,
    gguf_file: Annotated[str | None, typer.Option(help="Name of a GGUF file in the model's folder.")] = None,
) -> None:
    """Sample every problem plainly and drift-filtered (T = 1, top-p = 1) and compare: the paper's table 5.

    Run it again after an interruption. Writes samples.jsonl and decode.json.
    """
    from rich.console import Console

    from scapo.diagnose.settings import Settings, claim, fitting, hashed, label_of, load_panel, response_limit

    panel = load_panel(perturbed, problems)
    folder = out or Path("runs") / f"decode-{label_of(model)}"
    claim(
        folder,
        Settings(
            model=model, data=str(perturbed), data_sha256=str(hashed(perturbed)), max_tokens=max_tokens, seed=seed,
            dtype=dtype, gguf_file=gguf_file, filter_mass=filter_mass,
        ),
    )  # fmt: skip

    from scapo.decode.run import Job, decode_panel
    from scapo.diagnose.command import advancer, progress_bars
    from scapo.sampling.local import LocalModel

    console = Console()
    with console.status("Loading the model"):
        local = LocalModel(model, device=device, dtype=dtype, gguf_file=gguf_file)
    limit = response_limit(local, max_tokens)
    with progress_bars(console) as bars:
        advance = advancer(bars)
        job = Job(
            panel=fitting(panel, local, limit), local=local, model=model, out=folder, mass=filter_mass,
            max_tokens=limit, seed=seed, batch_problems=batch_size,
            advance=lambda done, total: advance("responses", done, total),
        )  # fmt: skip
        results = decode_panel(job)
    show(results, console)
    console.print(f"Wrote {folder}/decode.json and samples.jsonl.", markup=False)


def show(results: dict[str, Any], console: "Console") -> None:
    """The paper's table 5 in the terminal."""
    from rich.table import Table

    n = results["problems"]
    table = Table(
        title=f"{results['label']}: plain against d-filtered decoding, {n} problems, seed {results['seed']}"
    )
    for column in ("solved by", "problems", "%"):
        table.add_column(column, justify="left" if column == "solved by" else "right")
    names = {
        "both": "both",
        "lost": "plain only (lost)",
        "gained": "filtered only (gained)",
        "neither": "neither",
    }
    for key, name in names.items():
        table.add_row(name, str(results[key]), f"{100 * results[key] / n:.1f}")
    console.print(table)
    spread = "" if results["stderr"] is None else f" ± {100 * results['stderr']:.1f}"
    console.print(
        f"Accuracy {100 * results['accuracy_plain']:.1f} % plain, {100 * results['accuracy_filtered']:.1f} % filtered; "
        f"difference {100 * results['difference']:+.1f}{spread} points (standard error over problems), McNemar's exact "
        f"p = {results['mcnemar_p']:.3g}.\n{results['rejections_per_response']:.2f} rejected draws per response, at "
        f"{100 * results['rejections_per_step']:.2f} % of the steps.",
        highlight=False,
    )
