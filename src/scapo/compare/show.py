"""The tables of a comparison on the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from scapo.compare.table import AVERAGE, CREDIT, TRAIN, WHOLE


def show_tables(console: Console, content: Mapping[str, Any]) -> None:
    """Means with standard errors, then paired differences to the baseline with their intervals."""
    results = content["results"]
    if not results:
        return
    last = (AVERAGE, TRAIN, WHOLE)
    found = {name for entry in results.values() for name in entry["mean"]}
    sets = sorted(found, key=lambda name: (name in last and 1 + last.index(name), name))
    means = Table(
        title=f"mean (standard error) over {len(content['seeds'])} seeds, percent", title_justify="left"
    )
    gains = Table(
        title=f"difference to {content['baseline']}, same seeds, points [95 % t interval]",
        title_justify="left",
    )
    for table in (means, gains):
        table.add_column("method")
        for name in sets:
            table.add_column(name, justify="right")
    means.add_column("steps to baseline", justify="right")
    means.add_column("s / step", justify="right")
    for name, entry in results.items():
        row = [_mean(entry["mean"].get(one)) for one in sets]
        means.add_row(entry["label"], *row, _reached(entry), f"{entry['seconds_per_step']['value']:.1f}")
        if name != content["baseline"]:
            gains.add_row(entry["label"], *(_gain(entry["difference"].get(one)) for one in sets))
    console.print(means)
    if gains.row_count:
        console.print(gains)
    _show_credit(console, results)


def _show_credit(console: Console, results: Mapping[str, Any]) -> None:
    """What each credit saw of the embedded world's shortcut; nothing on other data."""
    known = [name for name in CREDIT if any(name in entry["credit"] for entry in results.values())]
    if not known:
        return
    table = Table(title="credit of the tokens that followed the shortcut, early in training (standard error)",
                  title_justify="left")  # fmt: skip
    table.add_column("method")
    for name in known:
        table.add_column(name, justify="right")
    for entry in results.values():
        table.add_row(entry["label"], *(_plain(entry["credit"].get(name)) for name in known))
    console.print(table)


def show_failures(console: Console, content: Mapping[str, Any]) -> None:
    """Runs that failed, with the end of their log."""
    for one in content["failures"]:
        text = f"FAILED {one['method']} seed {one['seed']}, {one['stage']}: {one['message']}"
        console.print(text, style="red", markup=False, highlight=False, soft_wrap=True)
    if content["failures"]:
        console.print("The same command again tries only what failed or is unfinished.")


def _mean(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "-"
    error = "" if one["stderr"] is None else f" ({100 * one['stderr']:.2f})"
    return f"{100 * one['value']:.2f}{error}"


def _plain(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "-"
    early = one["early"]
    return f"{early['value']:.3f}" + ("" if early["stderr"] is None else f" ({early['stderr']:.3f})")


def _gain(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "-"
    band = "" if one["low"] is None else f" [{100 * one['low']:+.2f}, {100 * one['high']:+.2f}]"
    return f"{100 * one['value']:+.2f}{band}"


def _reached(entry: Mapping[str, Any]) -> str:
    found = entry["steps_to_baseline"]
    if not found["seeds"]:
        return "-"
    mean = "never" if found["mean"] is None else f"{found['mean']:.0f}"
    return f"{mean} ({found['reached']}/{len(found['seeds'])})"
