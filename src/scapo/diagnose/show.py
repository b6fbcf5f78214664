"""The drift statistics in the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table


def print_drift(drift: Mapping[str, Any], console: Console) -> None:
    """The table of token classes, and the numbers about all tokens below it."""
    table = Table(title=f"{drift['label']}: drift by token class", title_justify="left")
    for name in ("class", "share %", "mean d", "95 % interval", "relative"):
        table.add_column(name, justify="left" if name == "class" else "right")
    for row in drift["classes"]:
        share = f"{100 * row['share']:.2f}"
        table.add_row(
            row["class"], share, _number(row["value"]), interval(row), _number(row["relative"], ".2f")
        )
    console.print(table)
    for line in lines(drift):
        console.print(line, markup=False, highlight=False)


def lines(drift: Mapping[str, Any]) -> list[str]:
    """One sentence per fact."""
    mean, direction, floor = drift["mean"], drift["direction"], drift["noise_floor"]
    shares = ", ".join(f"{name} {share:.1%}" for name, share in direction.items())
    found = [
        f"Mean drift {_number(mean['value'])} (95 % interval {interval(mean)}) over {drift['tokens']:,} "
        f"tokens of {drift['responses']:,} responses to {drift['problems']:,} problems.",
        f"d is exactly 0 at {drift['share_zero']:.1%} of the tokens; probabilities: {shares}.",
    ]
    if floor is not None:
        found.append(noise_line(mean["value"], floor))
    if drift["truncated"]:
        found.append(
            f"{drift['truncated']:,} responses were cut at {drift['sampling']['max_tokens']:,} tokens."
        )
    return found + [f"{count:,} problems left out: {reason}." for reason, count in drift["left_out"].items()]


def noise_line(mean: float, floor: float) -> str:
    """The noise floor, and what it means for reading the drift."""
    if floor == 0:
        return "Noise floor 0: rounding moves nothing."
    ratio = mean / floor
    advice = " Drift this near its noise says little: use float32." if ratio < 3 else ""
    return f"Noise floor {floor:.2g} (rounding alone), {ratio:,.1f} times below the mean.{advice}"


def interval(value: Mapping[str, Any]) -> str:
    if value["low"] is None:
        return "–"
    return f"{_number(value['low'])} to {_number(value['high'])}"


def _number(value: float | None, form: str = ".4g") -> str:
    return "–" if value is None else format(value, form)
