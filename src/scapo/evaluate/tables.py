"""Terminal tables of an evaluation and of a comparison."""

from typing import Any

from rich.table import Table

from scapo.evaluate.paper import FAMILIES, METHODS, PAPER


def percent(value: float | None, stderr: float | None = None) -> str:
    """`27.71 ± 1.20` in percent; a dash where there is no number."""
    if value is None:
        return "–"
    return f"{100 * value:.2f}" + ("" if stderr is None else f" ± {100 * stderr:.2f}")


def results_table(results: dict[str, Any]) -> Table:
    """One row per set, then the aggregates; the sampling stands below."""
    table = Table(title=f"{results['label']}: accuracy, % ± standard error by problem", title_justify="left")
    for name in ("set", "problems", "samples", "accuracy", "cut %", "tokens", "why 0"):
        table.add_column(
            name, justify="left" if name in ("set", "why 0") else "right", no_wrap=name == "accuracy"
        )
    for name, one in results["suites"].items():
        tokens = "–" if one["mean_tokens"] is None else f"{one['mean_tokens']:.0f}"
        table.add_row(
            name, str(one["problems"]), str(one["samples"]), percent(one["accuracy"], one["stderr"]),
            f"{100 * one['truncation_rate']:.1f}", tokens, _zeros(one["reasons"]),
        )  # fmt: skip
    table.add_section()
    for name, one in results["aggregates"].items():
        if one["sets"] > 1:
            accuracy = percent(one["accuracy"], one["stderr"])
            table.add_row(f"all {name}", str(one["problems"]), "", accuracy, "", "", "")
    table.caption, table.caption_justify = _sampling(results), "left"
    return table


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
    table = Table(title="pass@k, % (95 % band over problems)", title_justify="left")
    table.add_column("set")
    for k in ks:
        table.add_column(f"k={k}", justify="right")
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
    table = Table(title=f"Paper, {base} (accuracy %; the paper gives no error bars)", title_justify="left")
    table.add_column("benchmark")
    for name in (results["label"], *METHODS):
        table.add_column(name, justify="right")
    for family in FAMILIES:
        ours = results["aggregates"].get(family)
        if ours:
            paper = (f"{value:.2f}" for value in PAPER[base][family])
            table.add_row(family, percent(ours["accuracy"], ours["stderr"]), *paper)
    return table


def comparison_table(compared: dict[str, Any]) -> Table:
    """B - A per set with its 95 % interval."""
    a, b = compared["a"]["label"], compared["b"]["label"]
    table = Table(title=f"{b} minus {a}, paired by problem (points, 95 % t interval)", title_justify="left")
    for name in ("set", "problems", a, b, "difference", "interval", "p", "better", "worse"):
        table.add_column(name, justify="left" if name == "set" else "right")
    for name, one in compared["suites"].items():
        low, high, p = one["low"], one["high"], one["p_value"]
        table.add_row(
            name, str(one["problems"]), percent(one["a"]), percent(one["b"]),
            f"{100 * one['difference']:+.2f}",
            "–" if low is None else f"{100 * low:+.2f} to {100 * high:+.2f}",
            "–" if p is None else f"{p:.3g}", str(one["better"]), str(one["worse"]),
        )  # fmt: skip
    return table
