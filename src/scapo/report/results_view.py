"""The results section: a plot per suite, the table, differences between methods and what they amount to."""

from collections.abc import Sequence
from typing import Any

from scapo.report.figures import Dot, dots
from scapo.report.pass_view import pass_views
from scapo.report.results import Results
from scapo.report.text import percent, points, short

VERDICT_WORDS = {"higher": "higher", "lower": "lower", "noise": "within noise", "unknown": "can't be judged"}

NAMED_AT_MOST = 6  # suites written out in one group of a sentence


def results_view(results: Results, styles: dict[str, int]) -> dict[str, Any] | None:
    """Everything the template needs; None without any evaluation."""
    if not results.labels:
        return None
    pairs = results.pairs()
    differences = [_difference_row(results, suite, pairs) for suite in results.suites]
    hows = {cell["how"] for row in differences for cell in row["cells"] if cell}
    return {
        "methods": [{"label": label, "style": styles[label]} for label in results.labels],
        "plots": [_plot(results, suite, styles) for suite in results.suites],
        "rows": [_row(results, suite) for suite in results.suites],
        "by_seed": any((one := cell.estimate()) and one.unit == "seeds" for cell in results.cells.values()),
        "pairs": pairs,
        "differences": differences,
        "how": hows.pop() if len(hows) == 1 else None,
        "pass_at_k": pass_views(results, styles),
        "sentences": sentences(results),
    }


def sentences(results: Results) -> list[str]:
    """One plain sentence per pair of methods, favourable or not."""
    return [sentence for ours, theirs in results.pairs() if (sentence := _sentence(results, ours, theirs))]


def _sentence(results: Results, ours: str, theirs: str) -> str:
    groups: dict[str, list[str]] = {}
    for suite in results.suites:
        found = results.difference(ours, theirs, suite)
        if found is not None:
            groups.setdefault(found.estimate.verdict, []).append(f"{suite} {points(found.estimate.mean)}")
    parts = [
        f"{words} on {_some(groups[verdict])}"
        for verdict, words in VERDICT_WORDS.items()
        if verdict in groups
    ]
    return f"{ours} against {theirs}: {'; '.join(parts)}." if parts else ""


def _some(names: list[str]) -> str:
    """All names, or the first of them and how many more."""
    if len(names) <= NAMED_AT_MOST:
        return ", ".join(names)
    return ", ".join(names[: NAMED_AT_MOST - 1]) + f" and {len(names) - NAMED_AT_MOST + 1} more"


def _row(results: Results, suite: str) -> dict[str, Any]:
    cells = [cell for (_, name), cell in results.cells.items() if name == suite]
    leaders = results.leaders(suite)
    return {
        "suite": suite,
        "aggregate": suite in results.aggregates,
        "problems": _span([int(count) for cell in cells if (count := cell.count("problems"))]),
        "samples": _span([int(count) for cell in cells if (count := cell.samples())]),
        "cells": [_cell(results, label, suite, leaders) for label in results.labels],
    }


def _span(values: list[int]) -> str:
    if not values:
        return "?"
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _plot(results: Results, suite: str, styles: dict[str, int]) -> dict[str, str]:
    rows = []
    for label in results.labels:
        cell = results.cells.get((label, suite))
        if cell and (one := cell.estimate()):
            low, high = one.interval() or (None, None)
            rows.append(Dot(label, styles[label], one.mean, low, high))
    alt = f"Accuracy on {suite}: " + ", ".join(f"{row.label} {percent(row.value)} percent" for row in rows)
    return {"title": suite, "note": "", "svg": dots(f"suite {suite}", alt, rows, percent=True)}


def _cell(results: Results, label: str, suite: str, leaders: list[str]) -> dict[str, Any]:
    cell = results.cells.get((label, suite))
    one = cell.estimate() if cell else None
    if cell is None or one is None:
        return {"text": "–", "detail": "", "leads": False, "alone": False}
    truncated, reasons = cell.count("truncation_rate"), cell.reasons()
    detail = [f"{one.units} {one.unit}", f"sampling seeds {cell.sampling_seeds()}"]
    detail += [f"truncated {percent(truncated)} %"] if truncated else []
    detail += [f"mean length {short(tokens)} tokens"] if (tokens := cell.count("mean_tokens")) else []
    total = sum(reasons.values()) or 1
    detail += [f"{reason} {percent(count / total)} %" for reason, count in list(reasons.items())[:4]]
    return {
        "text": percent(one.mean),
        "stderr": percent(one.stderr) if one.stderr is not None else None,
        "detail": detail,
        "leads": label in leaders and len(results.labels) > 1,
        "alone": leaders == [label],
    }


def _difference_row(results: Results, suite: str, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    cells = [_difference(results, ours, theirs, suite) for ours, theirs in pairs]
    return {"suite": suite, "aggregate": suite in results.aggregates, "cells": cells}


def _difference(results: Results, ours: str, theirs: str, suite: str) -> dict[str, str] | None:
    found = results.difference(ours, theirs, suite)
    if found is None:
        return None
    interval = found.estimate.interval()
    return {
        "mean": points(found.estimate.mean),
        "interval": f"{points(interval[0])} to {points(interval[1])}" if interval else "no interval",
        "verdict": found.estimate.verdict,
        "words": VERDICT_WORDS[found.estimate.verdict],
        "how": found.how,
        "units": f"{found.estimate.units} {found.estimate.unit}",
    }
