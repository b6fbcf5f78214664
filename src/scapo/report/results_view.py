"""The results section: a plot per suite, the table, differences between methods and what they amount to."""

from typing import Any

from scapo.report.figures import Dot, dots
from scapo.report.pass_view import pass_views
from scapo.report.results import Results
from scapo.report.text import percent, points, short

VERDICT_WORDS = {"higher": "higher", "lower": "lower", "noise": "within noise", "unknown": "can't be judged"}


def results_view(results: Results, styles: dict[str, int]) -> dict[str, Any] | None:
    """Everything the template needs; None without any evaluation."""
    if not results.labels:
        return None
    leaders = {suite: results.leaders(suite) for suite in results.suites}
    return {
        "suites": [_suite_head(results, suite) for suite in results.suites],
        "plots": [_plot(results, suite, styles) for suite in results.suites],
        "rows": [
            {
                "label": label,
                "style": styles[label],
                "cells": [_cell(results, label, s, leaders[s]) for s in results.suites],
            }
            for label in results.labels
        ],
        "by_seed": any((one := cell.estimate()) and one.unit == "seeds" for cell in results.cells.values()),
        "differences": [_difference_row(results, ours, theirs) for ours, theirs in results.pairs()],
        "sentences": sentences(results),
        "pass_at_k": pass_views(results, styles),
        "notes": results.notes,
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
        f"{VERDICT_WORDS[verdict]} on {', '.join(groups[verdict])}"
        for verdict in VERDICT_WORDS
        if verdict in groups
    ]
    return f"{ours} against {theirs}: {'; '.join(parts)}." if parts else ""


def _suite_head(results: Results, suite: str) -> dict[str, str]:
    cells = [cell for (_, name), cell in results.cells.items() if name == suite]
    problems = sorted({int(count) for cell in cells if (count := cell.count("problems"))})
    samples = sorted({int(count) for cell in cells if (count := cell.samples())})
    return {"name": suite, "problems": _span(problems), "samples": _span(samples)}


def _span(values: list[int]) -> str:
    if not values:
        return "?"
    return f"{values[0]:,}" if values[0] == values[-1] else f"{values[0]:,}–{values[-1]:,}"


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


def _difference_row(results: Results, ours: str, theirs: str) -> dict[str, Any]:
    return {
        "ours": ours,
        "theirs": theirs,
        "cells": [_difference(results, ours, theirs, s) for s in results.suites],
    }


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
        "how": f"{found.how}, {found.estimate.units} {found.estimate.unit}",
    }
