"""Terminal tables of an evaluation and of a comparison."""

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.table import Table

from scapo.evaluate.paper import FAMILIES, METHODS, PAPER


def percent(value: float | None, stderr: float | None = None) -> str:
    """`27.71 ± 1.20` in percent; a dash where there is no number."""
    if value is None:
        return "–"
    return f"{100 * value:.2f}" + ("" if stderr is None else f" ± {100 * stderr:.2f}")


def results_table(results: dict[str, Any]) -> Table:
    """One row per set, then the aggregates; the sampling stands below."""
    table = _table(
        f"{results['label']}: accuracy, % ± standard error by problem",
        ("set", "problems × samples", "accuracy", "cut %", "tokens", "why 0"),
    )
    for name, one in results["suites"].items():
        tokens = "–" if one["mean_tokens"] is None else f"{one['mean_tokens']:.0f}"
        accuracy = percent(one["accuracy"], one["stderr"])
        cut = f"{100 * one['truncation_rate']:.1f}"
        table.add_row(name, _count(one), accuracy, cut, tokens, _zeros(one["reasons"]))
    table.add_section()
    for name, one in results["aggregates"].items():
        if one["sets"] > 1:
            table.add_row(f"all {name}", str(one["problems"]), percent(one["accuracy"], one["stderr"]))
    table.caption, table.caption_justify = _sampling(results), "left"
    return table


def _table(title: str, columns: Iterable[str]) -> Table:
    """Names to the left and whole, numbers to the right."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(
            name, justify="left" if place == 0 or name == "why 0" else "right", no_wrap=place == 0
        )
    return table


def _count(one: dict[str, Any]) -> str:
    """`30 × 16`, or `3 of 30 × 16` where a limit left problems out."""
    of = f" of {one['available']}" if one["available"] != one["problems"] else ""
    return f"{one['problems']}{of} × {one['samples']}"


def _sampling(results: dict[str, Any]) -> str:
    """Temperature, top-p and limit of the sets, and the seed."""
    kinds: dict[str, list[str]] = {}
    for name, one in results["suites"].items():
        kind = f"T={one['temperature']:g}, top-p={one['top_p']:g}, at most {one['max_tokens']:,} tokens"
        kinds.setdefault(kind, []).append(name)
    if len(kinds) == 1:
        return f"{next(iter(kinds))}, seed {results['seed']}"
    return (
        "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items())
        + f"; seed {results['seed']}"
    )


def _zeros(reasons: dict[str, int]) -> str:
    return (
        ", ".join(f"{reason} {count}" for reason, count in reasons.items() if reason != "correct") or "none"
    )


def pass_table(results: dict[str, Any]) -> Table:
    """pass@k per set with its 95 % band."""
    ks = sorted({int(k) for one in results["suites"].values() for k in one["pass_at_k"]})
    table = _table("pass@k, % (95 % band over problems)", ("set", *(f"k={k}" for k in ks)))
    for name, one in results["suites"].items():
        table.add_row(name, *(_band(one["pass_at_k"].get(str(k))) for k in ks))
    return table


def _band(one: dict[str, float | None] | None) -> str:
    if one is None:
        return ""
    band = "" if one["low"] is None else f" ({percent(one['low'])}–{percent(one['high'])})"
    return percent(one["value"]) + band


def paper_table(results: dict[str, Any], base: str) -> Table:
    """Ours beside the paper's Table 1 for one base model, where this run has the family."""
    table = _table(f"The paper's {base}, % (no error bars there)", ("benchmark", "ours", "±", *METHODS))
    for family in FAMILIES:
        if ours := results["aggregates"].get(family):
            paper = (f"{value:.2f}" for value in PAPER[base][family])
            table.add_row(family, percent(ours["accuracy"]), percent(ours["stderr"]), *paper)
    return table


def comparison_table(compared: dict[str, Any]) -> Table:
    """B - A per set with its 95 % interval."""
    table = _table(
        f"B ({compared['b']['label']}) minus A ({compared['a']['label']}), paired by problem; 95 % t interval",
        ("set", "problems", "A %", "B %", "B - A", "interval", "p", "B better", "B worse"),
    )
    for name, one in compared["suites"].items():
        low, high, p = one["low"], one["high"], one["p_value"]
        interval = "–" if low is None else f"{100 * low:+.1f} to {100 * high:+.1f}"
        sides = str(one["problems"]), percent(one["a"]), percent(one["b"]), f"{100 * one['difference']:+.2f}"
        p_text = "–" if p is None else f"{p:.2g}"
        table.add_row(name, *sides, interval, p_text, str(one["better"]), str(one["worse"]))
    return table
