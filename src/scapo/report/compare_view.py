"""The comparison section: what `scapo compare` found beyond the accuracies that the results section shows."""

from collections.abc import Mapping, Sequence
from typing import Any

from scapo.report.compare_curves import credit_plots, reward_plot
from scapo.report.read import finite
from scapo.report.results import Results, sort_labels
from scapo.report.results_view import VERDICT_WORDS, grid_of
from scapo.report.runs import CompareRun, Runs
from scapo.report.setup_view import command_text
from scapo.report.statistics import Estimate
from scapo.report.text import percent, points, short

TRAIN, WHOLE = "train/reward", "train/mean"
LAST = ("average", TRAIN, WHOLE)  # after the test sets
CREDIT = {
    "shortcut_auc": "AUC, whole rollout",
    "shortcut_auc_within": "AUC within a response",
    "on_shortcut": "Advantage on the shortcut",
    "off_shortcut": "Advantage elsewhere",
}
Entry = Mapping[str, Any]


def compare_views(runs: Runs, results: Results, styles: dict[str, int]) -> list[dict[str, Any]]:
    """One view per comparison."""
    return [_view(run, runs, results, styles) for run in runs.compare]


def _view(run: CompareRun, runs: Runs, results: Results, styles: dict[str, int]) -> dict[str, Any]:
    content = run.content
    entries = _sorted(content["results"])
    baseline = str(content.get("baseline", ""))
    base = str(entries.get(baseline, {}).get("label") or baseline)
    trained = any(one.path.resolve().is_relative_to(run.path.resolve()) for one in runs.train)
    credit = [name for name in CREDIT if any(name in _inner(entry, "credit") for entry in entries.values())]
    return {
        "name": run.label,
        "base": base,
        "seeds": ", ".join(map(str, content.get("seeds") or [])),
        "methods_key": [
            {"label": str(entry.get("label")), "style": styles.get(str(entry.get("label")), 0)}
            for entry in entries.values()
        ],
        "accuracy": None if _told(entries, results) else _accuracy(entries, baseline, styles),
        "cost": _cost(entries, baseline, styles),
        "credit": _credit(entries, credit, styles) if credit else None,
        "credit_plots": credit_plots(entries, credit, styles, f"{run.path}"),
        "reward": None if trained else reward_plot(entries, styles, f"{run.path}"),
        "failures": [_failure(one) for one in content.get("failures") or [] if isinstance(one, Mapping)],
        "facts": _facts(content),
        "command": command_text(content.get("command")),
    }


def _sorted(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """The order of methods of all other sections."""
    order = sort_labels(str(entry.get("label")) for entry in entries.values())
    return dict(sorted(entries.items(), key=lambda item: order.index(str(item[1].get("label")))))


def _told(entries: Mapping[str, Entry], results: Results) -> bool:
    """Whether the results section already shows these methods on these test sets."""
    return all(
        (str(entry.get("label")), name) in results.cells
        for entry in entries.values()
        for name in _inner(entry, "mean")
        if name not in LAST
    )


def _accuracy(entries: Mapping[str, Entry], baseline: str, styles: dict[str, int]) -> dict[str, Any] | None:
    """A row per method, a column per test set: mean and error, difference and interval."""
    found = dict.fromkeys(name for entry in entries.values() for name in _inner(entry, "mean"))
    names = [name for name in found if name not in (TRAIN, WHOLE)]
    if not names:
        return None
    heads = [_plain_head(name, aggregate=name in LAST) for name in sorted(names, key=LAST.__contains__)]
    means = [[_mean(entry, head["text"]) for head in heads] for entry in entries.values()]
    others = {name: entry for name, entry in entries.items() if name != baseline}
    gains = [[_gain(entry, head["text"]) for head in heads] for entry in others.values()]
    return {
        "means": grid_of([_head(entry, styles) for entry in entries.values()], heads, means),
        "differences": grid_of([_head(entry, styles) for entry in others.values()], heads, gains),
    }


def _cost(entries: Mapping[str, Entry], baseline: str, styles: dict[str, int]) -> list[dict[str, Any]]:
    """Per method the reward of the end and of the whole of training, steps to the baseline's, seconds per step."""
    return [
        {
            "head": _head(entry, styles),
            "reward": _mean(entry, TRAIN),
            "difference": None if name == baseline else _gain(entry, TRAIN),
            "whole": _mean(entry, WHOLE),
            "whole_difference": None if name == baseline else _gain(entry, WHOLE),
            "reached": _reached(_inner(entry, "steps_to_baseline")),
            "seconds": _with_error(_inner(entry, "seconds_per_step"), "{:.2f}"),
        }
        for name, entry in entries.items()
    ]


def _credit(entries: Mapping[str, Entry], names: Sequence[str], styles: dict[str, int]) -> dict[str, Any]:
    heads = [_plain_head(CREDIT[name]) for name in names]
    rows = [
        [_with_error(_inner(_inner(entry, "credit"), name, "early"), "{:.3f}") for name in names]
        for entry in entries.values()
    ]
    return grid_of([_head(entry, styles) for entry in entries.values()], heads, rows)


def _facts(content: Mapping[str, Any]) -> dict[str, str]:
    settings = _inner(content, "settings")
    words = {name: command_text(settings.get(name)) for name in ("train", "evaluate")}
    facts = {
        "recipe": content.get("recipe"),
        "settings for all trainings": words["train"],
        "for all evaluations": words["evaluate"],
    }
    return {name: str(value) for name, value in facts.items() if value}


def _failure(one: Mapping[str, Any]) -> str:
    where = " ".join(str(one.get(name, "")) for name in ("method", "seed")).strip()
    return f"{where}, {one.get('stage', '')}: {one.get('message', '')}"


def _head(entry: Entry, styles: Mapping[str, int]) -> dict[str, Any]:
    label = str(entry.get("label"))
    return _plain_head(label) | {"style": styles.get(label)}


def _plain_head(text: str, aggregate: bool = False) -> dict[str, Any]:
    return {"text": text, "small": "", "style": None, "aggregate": aggregate}


def _inner(value: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """An object inside an object; empty where it is absent or something else."""
    for name in names:
        found = value.get(name)
        value = found if isinstance(found, Mapping) else {}
    return value


def _estimate(one: Mapping[str, Any]) -> Estimate | None:
    value = finite(one.get("value"))
    if value is None:
        return None
    return Estimate(value, finite(one.get("stderr")), int(finite(one.get("seeds")) or 0), "seeds")


def _mean(entry: Entry, name: str) -> dict[str, Any] | None:
    one = _estimate(_inner(entry, "mean", name))
    if one is None:
        return None
    return {"text": percent(one.mean), "stderr": None if one.stderr is None else percent(one.stderr)}


def _with_error(one: Mapping[str, Any], form: str) -> dict[str, Any] | None:
    found = _estimate(one)
    if found is None:
        return None
    stderr = None if found.stderr is None else form.format(found.stderr)
    return {"text": form.format(found.mean).replace("-", "−"), "stderr": stderr}


def _gain(entry: Entry, name: str) -> dict[str, Any] | None:
    """The difference to the baseline as a cell of a table of differences."""
    one = _estimate(_inner(entry, "difference", name))
    if one is None:
        return None
    interval = one.interval()
    return {
        "mean": points(one.mean),
        "interval": f"{points(interval[0])} to {points(interval[1])}" if interval else "no interval",
        "verdict": one.verdict,
        "words": VERDICT_WORDS[one.verdict],
        "units": f"{one.units} seeds",
    }


def _reached(found: Mapping[str, Any]) -> dict[str, str] | None:
    """ "26" and "4 of 5 seeds", or "never"; the mean is over the seeds that got there."""
    seeds = _inner(found, "seeds")
    if not seeds:
        return None
    mean = finite(found.get("mean"))
    arrived = sum(step is not None for step in seeds.values())
    return {
        "text": "never" if mean is None else short(round(mean)),
        "of": f"{arrived} of {len(seeds)} {'seed' if len(seeds) == 1 else 'seeds'}",
    }
