"""`scapo plan`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from scapo.plan.hardware import BANDWIDTH_EFFICIENCY, STEP_OVERHEAD_S, UTILISATION


def plan(
    model: Annotated[
        str, typer.Option(help="qwen3-4b, another known name, a model folder or a config.json.")
    ] = "qwen3-4b",
    gpus: Annotated[int, typer.Option(help="Number of GPUs.")] = 8,
    gpu: Annotated[str, typer.Option(help="h100, h200, a100-80gb, l40s, rtx-4090.")] = "h100",
    response: Annotated[int, typer.Option(help="Limit of a response, tokens.")] = 16_384,
    mean_response: Annotated[
        float | None, typer.Option(help="Mean length, tokens; default: a quarter of the limit.")
    ] = None,
    early_response: Annotated[
        float | None, typer.Option(help="Mean length while the probe runs; default: the same.")
    ] = None,
    length_cv: Annotated[
        float | None, typer.Option(help="Standard deviation over mean of the lengths; default: 0.8.")
    ] = None,
    lengths: Annotated[
        Path | None, typer.Option(help="samples.jsonl of a run: take its lengths instead.")
    ] = None,
    prompt: Annotated[int, typer.Option(help="Mean prompt length, tokens.")] = 200,
    prompts: Annotated[int, typer.Option(help="Prompts of a rollout batch.")] = 128,
    responses: Annotated[int, typer.Option(help="Responses per prompt, G.")] = 8,
    updates: Annotated[int, typer.Option(help="Optimiser steps per rollout batch.")] = 2,
    steps: Annotated[int, typer.Option(help="Optimiser steps of the run.")] = 600,
    n_0: Annotated[int, typer.Option("--n-0", help="Optimiser steps with the probe, N_0.")] = 120,
    perturbations: Annotated[int, typer.Option(help="Rewrites per prompt, K.")] = 4,
    share_prompts: Annotated[
        bool,
        typer.Option(
            help="A rewrite's prompt runs once for its group (TRL engine), not per response (verl)."
        ),
    ] = False,
    rescore: Annotated[
        bool,
        typer.Option(help="The probe scores the original prompt again instead of reusing old log-probs."),
    ] = False,
    padding: Annotated[str, typer.Option(help="Batches of the probe: packed, sorted, unsorted.")] = "packed",
    probe_rows: Annotated[int, typer.Option(help="Rows of a padded batch of the probe.")] = 8,
    micro_tokens: Annotated[
        int, typer.Option(help="Tokens of a micro-batch per GPU; 0: two rows of the longest length.")
    ] = 0,
    checkpointing: Annotated[
        bool, typer.Option(help="Compute activations again in the backward pass.")
    ] = True,
    tensor_parallel: Annotated[int, typer.Option(help="GPUs per rollout engine.")] = 1,
    rollout_memory: Annotated[
        float, typer.Option(help="Share of a GPU's memory for the rollout engine.")
    ] = 0.6,
    max_running: Annotated[int, typer.Option(help="Sequences at a time per engine.")] = 1024,
    offload: Annotated[bool, typer.Option(help="Training states leave the GPU during rollouts.")] = False,
    peak_tflops: Annotated[float | None, typer.Option(help="Dense bf16 peak of a GPU.")] = None,
    bandwidth_tbs: Annotated[float | None, typer.Option(help="Memory bandwidth of a GPU, TB/s.")] = None,
    memory_gib: Annotated[float | None, typer.Option(help="Memory of a GPU, GiB.")] = None,
    mfu: Annotated[float, typer.Option(help="Share of the peak in training.")] = UTILISATION,
    forward_mfu: Annotated[float, typer.Option(help="Share of the peak in forward passes.")] = UTILISATION,
    bandwidth_efficiency: Annotated[
        float, typer.Option(help="Share of the bandwidth in decoding.")
    ] = BANDWIDTH_EFFICIENCY,
    step_overhead_ms: Annotated[
        float, typer.Option(help="Milliseconds per decoding step beside reading memory.")
    ] = 1e3 * STEP_OVERHEAD_S,
    against_paper: Annotated[
        bool, typer.Option("--against-paper", help="Check the model against the paper's breakdown instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Work out memory, FLOPs and time of a run before it is started, from a stated model (docs/plan.md)."""
    from scapo.plan.content import paper_content, plan_content
    from scapo.plan.hardware import Efficiency, changed_gpu, find_gpu
    from scapo.plan.lengths import LENGTH_CV
    from scapo.plan.model_shape import load_shape
    from scapo.plan.paper_table import show_paper
    from scapo.plan.setting import Setting
    from scapo.plan.table import show_plan

    if against_paper:
        _show(paper_content(), show_paper, as_json)
        return
    setting = Setting(
        shape=load_shape(model),
        gpu=changed_gpu(find_gpu(gpu), peak_tflops, bandwidth_tbs, memory_gib),
        gpus=gpus,
        efficiency=Efficiency(
            utilisation=mfu,
            forward_utilisation=forward_mfu,
            bandwidth=bandwidth_efficiency,
            step_overhead_s=step_overhead_ms / 1e3,
        ),
        prompts=prompts,
        responses=responses,
        updates=updates,
        steps=steps,
        n_0=n_0,
        perturbations=perturbations,
        prompt=prompt,
        response=response,
        mean=response / 4 if mean_response is None else mean_response,
        early_mean=early_response,
        cv=LENGTH_CV if length_cv is None else length_cv,
        lengths=lengths,
        share_prompts=share_prompts,
        rescore=rescore,
        padding=padding,
        probe_rows=probe_rows,
        checkpointing=checkpointing,
        tensor_parallel=tensor_parallel,
        rollout_memory=rollout_memory,
        max_running=max_running,
        micro_tokens=micro_tokens,
        offload=offload,
    )
    _show(plan_content(setting), show_plan, as_json)


def _show(content: dict[str, Any], tables: Any, as_json: bool) -> None:
    import json

    from rich.console import Console

    if as_json:
        print(json.dumps(content, indent=2, allow_nan=False))
    else:
        tables(Console(), content)
