"""`scapo diagnose`: where the probabilities of a model's own tokens drift when only the wording changes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress


def diagnose(
    model: Annotated[str, typer.Argument(help="A model folder or hub id.")],
    perturbed: Annotated[Path, typer.Argument(help="Problems with their rewrites, from scapo perturb.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder; default: runs/diagnose-LABEL.")
    ] = None,
    problems: Annotated[
        int, typer.Option(min=1, help="Take the first N problems that have rewrites.")
    ] = 1000,
    samples: Annotated[int, typer.Option(min=1, help="Responses per problem.")] = 1,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Response limit; default: 8192, or half the model's context.")
    ] = None,
    responses: Annotated[
        Path | None,
        typer.Option(help="Responses to score instead of sampling (samples.jsonl of an evaluation)."),
    ] = None,
    cases: Annotated[int, typer.Option(min=0, help="Whole groups of responses kept for reading.")] = 4,
    group: Annotated[int, typer.Option(min=2, help="Responses per group.")] = 8,
    lam: Annotated[float, typer.Option("--lambda", min=0.0, help="lambda of the advantages shown.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Seed of the samples and of the bootstrap.")] = 0,
    label: Annotated[
        str | None, typer.Option(help="Name in the report; default: the training run's.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Responses sampled and scored together.")] = 16,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: cuda where there is one.")] = None,
    dtype: Annotated[
        str | None, typer.Option(help="float32, bfloat16, auto; default: float32 on a CPU.")
    ] = None,
    gguf_file: Annotated[str | None, typer.Option(help="Name of a GGUF file in the model's folder.")] = None,
) -> None:
    """Measure token-level drift over a fixed panel: the paper's figure 2 and table 4, and case studies.

    Samples one response per problem (T = 1, top-p = 1), scores its tokens under the original prompt and every
    rewrite, and writes drift.json and cases.jsonl for scapo report. Run it again after an interruption.
    """
    from rich.console import Console

    from scapo.diagnose.settings import Settings, claim, hashed, label_of, load_panel

    panel = load_panel(perturbed, problems)
    settings = Settings(
        model=model, data=str(perturbed), data_sha256=str(hashed(perturbed)),
        responses=None if responses is None else str(responses), responses_sha256=hashed(responses),
        samples=samples, max_tokens=max_tokens, group=group, lam=lam, seed=seed, dtype=dtype,
        gguf_file=gguf_file,
    )  # fmt: skip
    folder = out or Path("runs") / f"diagnose-{label or label_of(model)}"
    claim(folder, settings)

    from scapo.diagnose.run import Job, diagnose_panel
    from scapo.diagnose.show import print_drift
    from scapo.sampling.local import LocalModel

    console = Console()
    with console.status("Loading the model"):
        local = LocalModel(model, device=device, dtype=dtype, gguf_file=gguf_file)
    with progress_bars(console) as bars:
        job = Job(
            panel=panel, local=local, settings=settings, out=folder, label=label, cases=cases,
            block=batch_size, advance=advancer(bars),
        )  # fmt: skip
        drift = diagnose_panel(job)
    print_drift(drift, console)
    console.print(
        f"Wrote {folder}/drift.json and cases.jsonl. See them with: scapo report {folder}", markup=False
    )


def progress_bars(console: Any) -> "Progress":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=console)


def advancer(bars: "Progress") -> Any:
    """A bar per stage, made when the stage first reports."""
    tasks: dict[str, Any] = {}

    def advance(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.advance(tasks[stage], done)

    return advance
