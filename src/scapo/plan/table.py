"""The plan on the terminal, from its JSON content."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from scapo.plan.hardware import GIB

Content = Mapping[str, Any]
PHASES = {
    "rollout": "rollout",
    "old_logprobs": "old log-probs",
    "probe": "probe",
    "update": "update",
}


def show_plan(console: Console, content: Content) -> None:
    _line(console, _heading(content))
    console.print(_batch_table(content))
    _line(console, _sampling_note(content))
    console.print(_memory_table(content))
    _line(console, _memory_note(content))
    console.print(_what_if_table(content))
    _line(console, _run_note(content))


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False)


def _heading(content: Content) -> str:
    setting = content["setting"]
    gpu, efficiency = setting["gpu"], setting["efficiency"]
    batch = content["other_batch"]
    return (
        f"{setting['shape']['name']}: {content['parameters'] / 1e9:.2f} billion parameters on {setting['gpus']} x "
        f"{gpu['name']} ({gpu['flops'] / 1e12:.0f} TFLOP/s bf16, {gpu['bandwidth'] / 1e12:.2f} TB/s, "
        f"{gpu['memory'] / GIB:.0f} GiB). Assumed: {efficiency['utilisation']:.2f} of the peak in training, "
        f"{efficiency['forward_utilisation']:.2f} in forward passes, {efficiency['bandwidth']:.2f} of the bandwidth and "
        f"{1e3 * efficiency['step_overhead_s']:.1f} ms a step in decoding; responses of {batch['mean_length']:,.0f} tokens "
        f"on average, at most {setting['response']:,} ({100 * batch['truncated']:.1f} % cut there)."
    )


def _batch_table(content: Content) -> Table:
    setting = content["setting"]
    rows = setting["prompts"] * setting["responses"]
    table = Table(
        title=f"one rollout batch: {setting['prompts']} prompts x {setting['responses']} = {rows} responses, "
        f"{setting['updates']} optimiser steps",
        title_justify="left",
    )
    table.add_column("phase")
    probed, rest = content["probed_batch"], content["other_batch"]
    columns = ("PFLOP", "seconds", "share", "s / optimiser step")
    for name in columns:
        table.add_column(name, justify="right")
    for key, name in PHASES.items():
        cost, total = probed[key], probed["seconds_probed"]
        table.add_row(name, *_phase(cost["flops"], cost["seconds"], total, setting["updates"]))
    table.add_section()
    for name, seconds in (
        ("with the probe", probed["seconds_probed"]),
        ("after N_0", rest["seconds"]),
    ):
        table.add_row(name, "", f"{seconds:,.1f}", "", f"{seconds / setting['updates']:,.1f}")
    return table


def _phase(flops: float, seconds: float, total: float, updates: int) -> tuple[str, ...]:
    return (
        f"{flops / 1e15:,.1f}",
        f"{seconds:,.1f}",
        f"{100 * seconds / total:.1f} %",
        f"{seconds / updates:,.1f}",
    )


def _sampling_note(content: Content) -> str:
    batch = content["other_batch"]
    sampling = batch["sampling"]
    note = (
        f"Of the rollout {sampling['tail_seconds']:,.0f} s go to the last tenth of an engine's responses; on average "
        f"{sampling['running']:.0f} run at a time in an engine."
    )
    if sampling["preempted"]:
        note += f" The cache overflows {sampling['preempted']} times: more memory for it would help."
    return note


def _memory_table(content: Content) -> Table:
    memory = content["memory"]
    update, rollout = memory["update"], memory["rollout"]
    table = Table(title="memory per GPU, GiB", title_justify="left")
    for name in ("update", "", "rollout", ""):
        table.add_column(name, justify="left" if name else "right")
    left = [
        ("weights, float32, sharded", update["weights"]),
        ("gradients, float32, sharded", update["gradients"]),
        ("Adam, float32, sharded", update["adam"]),
        ("gathered layers, embeddings", update["gathered"]),
        ("layer inputs kept", update["checkpoints"]),
        ("inside a layer", update["layer"]),
        ("logits in chunks", update["logits_chunked"]),
        ("runtime", update["runtime"]),
        ("total", update["total"]),
        ("total with whole logits", update["total_whole_logits"]),
    ]
    right: list[tuple[str, float | None]] = [
        ("weights, bf16", rollout["weights"]),
        ("key-value cache", rollout["cache"]),
        ("training states kept there", rollout["resident"]),
        ("runtime", rollout["runtime"]),
        ("total", rollout["total"]),
    ]
    right += [("", None)] * (len(left) - len(right))
    for (name, size), (other, its_size) in zip(left, right, strict=True):
        table.add_row(name, f"{size / GIB:.1f}", other, "" if its_size is None else f"{its_size / GIB:.1f}")
    return table


def _memory_note(content: Content) -> str:
    setting, memory = content["setting"], content["memory"]
    update, rollout = memory["update"], memory["rollout"]
    notes = [
        f"Micro-batches of {setting['micro_tokens']:,} tokens a GPU; the cache of an engine holds "
        f"{rollout['kv_tokens']:,.0f} tokens."
    ]
    for name, size in (
        ("The update with chunked logits", update["total"]),
        ("The update with whole logits", update["total_whole_logits"]),
        ("The rollout", rollout["total"]),
    ):
        if size > memory["limit"]:
            notes.append(f"{name} does not fit: {size / GIB:.1f} GiB of {memory['limit'] / GIB:.0f}.")
    return " ".join(notes)


def _what_if_table(content: Content) -> Table:
    table = Table(title="one change at a time", title_justify="left")
    table.add_column("change")
    for name in ("probe s / batch", "of that batch", "run h", "added"):
        table.add_column(name, justify="right")
    for one in content["what_if"]:
        table.add_row(
            one["change"],
            f"{one['probe_seconds']:,.1f}",
            f"{100 * one['share']:.1f} %",
            f"{one['run']['seconds'] / 3600:,.1f}",
            f"+{100 * one['run']['added']:.1f} %",
        )
    return table


def _run_note(content: Content) -> str:
    setting, run = content["setting"], content["run"]
    hours = run["seconds"] / 3600
    return (
        f"A run of {setting['steps']} optimiser steps ({run['batches']} rollout batches, {run['probed']} of them probed): "
        f"{hours:,.1f} hours, {hours * setting['gpus']:,.0f} GPU hours; the probe adds {100 * run['added']:.1f} %. Not "
        "counted: rewards, weight transfer, validation, checkpoints (a quarter of the paper's run), start-up."
    )
