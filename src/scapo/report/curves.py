"""From metrics rows to lines: one per method, smoothed, with a band when several seeds were run."""

from collections.abc import Sequence

import numpy as np

from scapo.report.figures import Series
from scapo.report.results import Results, checkpoint_step, sort_labels, training_seed
from scapo.report.runs import EvalRun, Runs, TrainRun
from scapo.report.statistics import Estimate, clustered_mean, mean_of_units, moving_average

SMOOTH_FROM = 40  # steps; shorter runs are shown as they are
Methods = dict[str, list[TrainRun]]
_Points = dict[str, dict[float, list[Estimate]]]  # label -> step -> one estimate per seed


def by_label(trained: Sequence[TrainRun]) -> Methods:
    """Training runs (those with at least one step) by method, in display order."""
    started = [run for run in trained if run.metrics]
    return {
        label: [run for run in started if run.label == label]
        for label in sort_labels(r.label for r in started)
    }


def window(steps: int) -> int:
    """Width of the moving average in rows: about a twentieth of the run, odd; 1 for short runs."""
    return 1 if steps < SMOOTH_FROM else 2 * (steps // 40) + 1


def curve(
    label: str, style: int, runs: Sequence[TrainRun], key: str, *, dotted: bool = False
) -> Series | None:
    """One metric of one method over optimiser steps; None where no run has it."""
    columns = [{row["step"]: row[key] for row in run.metrics if key in row} for run in runs]
    columns = [column for column in columns if column]
    if not columns:
        return None
    steps = sorted(set.intersection(*(set(column) for column in columns))) or sorted(columns[0])
    values = np.array([[column[step] for step in steps] for column in columns if set(steps) <= set(column)])
    width = window(len(steps))
    mean = moving_average(values.mean(axis=0).tolist(), width)
    if len(values) == 1:
        raw = values[0].tolist() if width > 1 and not dotted else None
        return Series(label, style, steps, mean, raw=raw, dotted=dotted)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    low, high = (moving_average((values.mean(axis=0) + sign * error).tolist(), width) for sign in (-1, 1))
    return Series(label, style, steps, mean, band=None if dotted else (low, high), dotted=dotted)


def augmented_spans(trained: Sequence[TrainRun]) -> dict[str, tuple[float, float]]:
    """First and last optimiser step with lambda > 0, per method that has any."""
    spans: dict[str, tuple[float, float]] = {}
    for label, runs in by_label(trained).items():
        steps = [row["step"] for run in runs for row in run.metrics if row.get("lambda", 0.0) > 0]
        if steps:
            spans[label] = (min(steps), max(steps))
    return spans


def accuracy_curves(runs: Runs, results: Results, styles: dict[str, int]) -> dict[str, list[Series]]:
    """Accuracy over training per suite, from evaluations of the base, of checkpoints and of final models.

    A suite is shown when some method was evaluated at two steps or more (the base counts as step 0 of all).
    """
    ends = {(run.label, run.seed): run.metrics[-1]["step"] for run in runs.train if run.metrics}
    points: dict[str, _Points] = {}
    for run in runs.evaluate:
        step = _step(run, runs.train, ends)
        for suite, scores in run.scores.items() if step is not None else ():
            found = points.setdefault(suite, {}).setdefault(run.label, {})
            found.setdefault(step or 0.0, []).append(clustered_mean(scores))
    trained = {label for label, _ in ends}
    curves = {suite: _suite_curves(points.get(suite, {}), trained, styles) for suite in results.suites}
    return {suite: series for suite, series in curves.items() if series}


def _suite_curves(points: _Points, trained: set[str], styles: dict[str, int]) -> list[Series]:
    base = next(
        (steps[0.0] for label, steps in points.items() if label not in trained and 0.0 in steps), None
    )
    series = []
    for label in sort_labels(label for label in points if label in trained):
        own = points[label] if base is None else {0.0: base, **points[label]}
        if len(own) > 1:
            series.append(_measured(label, styles[label], {step: own[step] for step in sorted(own)}))
    return series


def _measured(label: str, style: int, points: dict[float, list[Estimate]]) -> Series:
    """Means with one standard error: over seeds where there are several, otherwise over problems."""
    each = [several[0] if len(several) == 1 else mean_of_units([one.mean for one in several], "seeds")
            for several in points.values()]  # fmt: skip
    low = [one.mean - (one.stderr or 0.0) for one in each]
    high = [one.mean + (one.stderr or 0.0) for one in each]
    return Series(label, style, list(points), [one.mean for one in each], band=(low, high), points=True)


def _step(run: EvalRun, trained: list[TrainRun], ends: dict[tuple[str, int | None], float]) -> float | None:
    """The step an evaluated model stands at: N of checkpoint-N, the last of a final model, 0 of a base."""
    checkpoint = checkpoint_step(run)
    if checkpoint is not None:
        return float(checkpoint)
    end = ends.get((run.label, training_seed(run, trained)))
    if end is not None:
        return end
    return 0.0 if run.label not in {label for label, _ in ends} else None
