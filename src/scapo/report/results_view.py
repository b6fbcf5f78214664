"""The results section: a plot per suite, the table, differences between methods and what they amount to."""

from collections.abc import Sequence
from typing import Any

from scapo.report.figures import Dot, dots
from scapo.report.pass_view import pass_views
from scapo.report.results import Results
from scapo.report.style import MANY
from scapo.report.text import percent, points, short

VERDICT_WORDS = {"higher": "higher", "lower": "lower", "noise": "within noise", "unknown": "can't be judged"}

Head = dict[str, Any]  # a row or column head

NAMED_AT_MOST = 6  # suites written out in one group of a sentence


def results_view(results: Results, styles: dict[str, int]) -> dict[str, Any] | None:
    """Everything the template needs; None without any evaluation."""
    if not results.labels:
        return None
    pairs = results.pairs()
    many = len(results.labels) > MANY
    differences = [[_difference(results, *pair, suite) for pair in pairs] for suite in results.suites]
    hows = {cell["how"] for row in differences for cell in row if cell}
    cells = [[_cell(results, label, suite, results.leaders(suite)) for label in results.labels]
             for suite in results.suites]  # fmt: skip
    against = {theirs for _, theirs in pairs}
    methods = [_head(label, style=styles[label]) for label in results.labels]
    columns = [_head(ours if many and len(against) == 1 else f"{ours} − {theirs}") for ours, theirs in pairs]
    return {
        "methods": [{"label": label, "style": styles[label]} for label in results.labels],
        "plots": [_plot(results, suite, styles) for suite in results.suites],
        "table": grid_of(_suite_heads(results), methods, cells, flip=many),
        "by_seed": any((one := cell.estimate()) and one.unit == "seeds" for cell in results.cells.values()),
        "differences": grid_of(_suite_heads(results, sizes=False), columns, differences, flip=many),
        "against": against.pop() if many and len(against) == 1 else None,
        "how": hows.pop() if len(hows) == 1 else None,
        "pass_at_k": pass_views(results, styles),
        "many": many,
        "sentences": sentences(results),
    }


def grid_of(
    rows: Sequence[Head], columns: Sequence[Head], cells: Sequence[Sequence[Any]], *, flip: bool = False
) -> dict[str, Any]:
    """A table for the template, `cells[row][column]`; flipped, rows become columns."""
    if flip:
        turned = [[row[place] for row in cells] for place in range(len(columns))]
        return grid_of(columns, rows, turned)
    return {
        "heads": columns,
        "rows": [{"head": head, "cells": row} for head, row in zip(rows, cells, strict=True)],
    }


def _head(text: str, small: str = "", style: int | None = None, aggregate: bool = False) -> Head:
    return {"text": text, "small": small, "style": style, "aggregate": aggregate}


def _suite_heads(results: Results, sizes: bool = True) -> list[Head]:
    return [
        _head(suite, _size(results, suite) if sizes else "", aggregate=suite in results.aggregates)
        for suite in results.suites
    ]


def sentences(results: Results) -> list[str]:
    """One plain sentence per pair of methods, favourable or not; per suite where there are many pairs."""
    pairs = results.pairs()
    if len(pairs) > MANY:
        return [sentence for suite in results.suites if (sentence := _suite_sentence(results, suite, pairs))]
    return [sentence for ours, theirs in pairs if (sentence := _sentence(results, ours, theirs))]


def _suite_sentence(results: Results, suite: str, pairs: Sequence[tuple[str, str]]) -> str:
    """ "conflict: higher than GRPO are SCAPO +12.0, FIPO +3.1; 6 of 8 within noise." """
    several = len({theirs for _, theirs in pairs}) > 1
    groups: dict[str, list[str]] = {}
    for ours, theirs in pairs:
        if found := results.difference(ours, theirs, suite):
            name = f"{ours} − {theirs}" if several else ours
            groups.setdefault(found.estimate.verdict, []).append(f"{name} {points(found.estimate.mean)}")
    than = f" than {pairs[0][1]}" if not several else ""
    parts = [_told(verdict, names, than, len(pairs)) for verdict in VERDICT_WORDS
             if (names := groups.get(verdict))]  # fmt: skip
    return f"{suite}: {'; '.join(parts)}." if parts else ""


def _told(verdict: str, names: list[str], than: str, total: int) -> str:
    """What stands out by name, what does not by its number."""
    if verdict in ("higher", "lower"):
        return f"{verdict}{than} {'is' if len(names) == 1 else 'are'} {_some(names)}"
    return f"{len(names)} of {total} {VERDICT_WORDS[verdict]}"


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


def _size(results: Results, suite: str) -> str:
    cells = [cell for (_, name), cell in results.cells.items() if name == suite]
    problems = _span([int(count) for cell in cells if (count := cell.count("problems"))])
    return f"{problems} problems × {_span([int(count) for cell in cells if (count := cell.samples())])}"


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
