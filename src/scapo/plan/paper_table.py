"""The check against the paper on the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

SHARES = ("rollout", "update", "probe")


def show_paper(console: Console, content: Mapping[str, Any]) -> None:
    paper = content["paper"]
    table = Table(title="against the paper's 4B run (K = 4, N_0 = 120 of 600), 8 GPUs", title_justify="left")
    table.add_column("GPU")
    for name in ("mean", "rollout", "update", "probe", "roll/upd", "probe/upd", "fitted"):
        table.add_column(name, justify="right")
    table.add_row("the paper", "?", *_numbers(paper))
    table.add_section()
    for one in content["model"]:
        table.add_row(one["gpu"], f"{one['mean']:,.0f}", *_numbers(one), f"{one['early_length']:.2f}")
    console.print(table)
    console.print(
        f"Shares of the run, {100 * paper['other']:.1f} % of it being other things, as in the paper; `mean` is the mean response "
        "length, which the paper does not give, nor the GPUs. Nothing is fitted to the paper but the last column: the "
        "mean length in the probed steps, over that in the others, that gives the paper's probe/update.",
        markup=False,
        highlight=False,
    )


def _numbers(one: Mapping[str, Any]) -> list[str]:
    shares = [f"{100 * one[name]:.1f} %" for name in SHARES]
    return [*shares, f"{one['rollout_per_update']:.2f}", f"{one['probe_per_update']:.3f}"]
