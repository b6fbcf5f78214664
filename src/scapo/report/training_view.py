"""The training section: curves of all runs, the augmentation phase shaded."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scapo.report.curves import Methods, accuracy_curves, augmented_spans, by_label, curve, window
from scapo.report.each_view import Scene, each_view
from scapo.report.figures import Series, lines
from scapo.report.results import REFERENCE, Results
from scapo.report.runs import Runs, TrainRun
from scapo.report.style import MANY, WIDTH

SMALL, SMALLEST = 320, 200  # widths of figures that stand three or four in a row

# title, metric, whether it is a share, what it tells
MAIN = (
    ("Reward", "reward/mean", True, "share of the sampled answers that were right"),
    ("Drift", "drift/mean", False, "mean d of the sampled tokens; dotted: numerical noise alone"),
)
MORE = (
    ("Signal to noise", "drift/signal_to_noise", False, "drift over its noise floor; near 1 it is noise"),
    ("Tokens with d = 0", "drift/share_zero", True, "moved by no rewrite"),
    ("Tokens corrected", "credit/share_corrected", True, "share of tokens that lost credit"),
    ("Groups without outcome signal", "credit/dead_groups", True, "all right, or all wrong"),
    ("Advantages whose sign turned", "credit/sign_flips", True, "share of tokens"),
    ("Response length", "length/mean", False, "tokens"),
    ("Cut at the length limit", "length/truncated", True, "share of responses"),
    ("Entropy", "entropy", False, "nats per token"),
    ("Gradient norm", "grad_norm", False, "before clipping"),
    ("Ratio clipped above", "clip/high", True, "share of tokens"),
    ("Ratio clipped below", "clip/low", True, "share of tokens"),
)
FLOOR = "drift/noise_floor"


def training_view(runs: Runs, results: Results, styles: dict[str, int]) -> dict[str, Any] | None:
    """Curves of all training runs; None when no run has a step yet."""
    methods = by_label(runs.train)
    if not methods:
        return None
    spans = augmented_spans(runs.train)
    small = [(*row, SMALL) for row in MORE]
    last = max(run.metrics[-1]["step"] for found in methods.values() for run in found)
    many = len(methods) > MANY
    scene = Scene(max(spans.values(), key=lambda span: span[1], default=None), last, many)
    widest = max(window(len(run.metrics)) for found in methods.values() for run in found)
    return {
        "methods": [
            {"label": label, "style": styles[label], "seeds": _seeds(found)}
            for label, found in methods.items()
        ],
        "each": each_view(methods, styles, scene, spans, _reference(results, methods)) if many else None,
        "main": [plot for row in MAIN[many:] if (plot := _plot(methods, styles, scene, *row))],
        "accuracy": [
            _figure(f"Accuracy on {suite}", "", series, scene, True, SMALLEST)
            for suite, series in accuracy_curves(runs, results, styles).items()
            if not many or any(len(one.x) > 2 for one in series)  # from start to end is told by Results
        ],
        "more": [plot for row in small if (plot := _plot(methods, styles, scene, *row))],
        "spans": _spans(spans),
        "window": widest if widest > 1 else None,
        "several": any(len(found) > 1 for found in methods.values()),
        "many": many,
    }


def _spans(spans: dict[str, tuple[float, float]]) -> list[str]:
    """ "SCAPO, SCAPO all: steps 1 to 10"; methods with the same phase together."""
    groups: dict[tuple[float, float], list[str]] = {}
    for label, span in spans.items():
        groups.setdefault(span, []).append(label)
    return [
        f"{', '.join(labels)}: steps {start:.0f} to {stop:.0f}" for (start, stop), labels in groups.items()
    ]


def _reference(results: Results, methods: Methods) -> str:
    """The method all others are drawn against."""
    grpo = [label for label in methods if label.lower() == REFERENCE]
    return next(iter([*grpo, *results.baselines.values()]), next(iter(methods)))


def _seeds(runs: Sequence[TrainRun]) -> str:
    seeds = sorted({run.seed for run in runs if run.seed is not None})
    return ("seed " if len(seeds) == 1 else "seeds ") + ", ".join(map(str, seeds)) if seeds else ""


def _plot(
    methods: Methods,
    styles: dict[str, int],
    scene: Scene,
    title: str,
    key: str,
    share: bool,
    note: str,
    width: int = WIDTH,
) -> dict[str, str] | None:
    """One metric of all methods; None where nobody has it or it never left 0."""
    series = [one for label, runs in methods.items() if (one := curve(label, styles[label], runs, key))]
    if not any(value for one in series for value in one.y):
        return None
    if key == "drift/mean":
        lows = [curve(label, styles[label], runs, FLOOR, dotted=True) for label, runs in methods.items()]
        series += [floor for floor in lows if floor]
    if scene.many:
        series = [replace(one, band=None, raw=None) for one in series]
    return _figure(title, note, series, scene, share, width)


def _figure(
    title: str, note: str, series: Sequence[Series], scene: Scene, share: bool, width: int
) -> dict[str, str]:
    ends = ", ".join(f"{one.label} {one.y[0]:.3g} to {one.y[-1]:.3g}" for one in series if not one.dotted)
    alt = f"{title} over training: {ends}"
    svg = lines(
        f"curve {title}",
        alt,
        series,
        shaded=scene.augmented,
        percent=share,
        zero=not share,
        xlim=(0, scene.last),
        width=width,
    )
    return {"title": title, "note": note, "svg": svg}
