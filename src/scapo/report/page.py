"""Put the sections together into one HTML page that loads nothing and runs only its own script."""

import base64
import hashlib
from collections.abc import Sequence, Sized
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from scapo.report.cases_view import cases_view
from scapo.report.compare_view import compare_views
from scapo.report.decode_view import decode_view
from scapo.report.drift_view import drift_view
from scapo.report.results import Results, gather, sort_labels
from scapo.report.results_view import results_view
from scapo.report.runs import Runs, load_runs
from scapo.report.setup_view import setup_view, source
from scapo.report.style import MANY, assign_styles, key
from scapo.report.text import plural, when
from scapo.report.time_view import time_view
from scapo.report.training_view import training_view
from scapo.versions import versions


def build_report(paths: Sequence[Path | str], command: str = "") -> str:
    """The HTML of a report on every run directory at or below `paths`."""
    runs = load_runs(paths)
    return render(runs, gather(runs), command)


def render(runs: Runs, results: Results, command: str = "") -> str:
    """The page; a section without data is left out."""
    styles = assign_styles(sort_labels(_labels(runs, results)))
    context: dict[str, Any] = {
        "title": _title(runs, results),
        "counts": _counts(runs),
        "created": when(max((str(source(run).get("created") or "") for run in runs.all), default="")),
        "results": results_view(results, styles),
        "comparisons": compare_views(runs, results, styles),
        "training": training_view(runs, results, styles),
        "drift": [drift_view(run, number) for number, run in enumerate(runs.diagnose)],
        "decoding": decode_view(runs.decode),
        "cases": cases_view(runs.diagnose),
        "time": time_view(runs),
        "setup": setup_view(runs),
        "notes": runs.notes + results.notes,
        "command": command,
        "version": versions().get("scapo", ""),
    }
    return _environment().get_template("report.html").render(context)


def _labels(runs: Runs, results: Results) -> list[str]:
    """Every method of the page."""
    compared = [str(entry.get("label")) for run in runs.compare for entry in run.content["results"].values()]
    return [*results.labels, *(run.label for run in runs.train), *compared]


def _title(runs: Runs, results: Results) -> str:
    others = [*(run.label for run in runs.diagnose), *(run.label for run in runs.decode)]
    labels = sort_labels(_labels(runs, results) or others or ["SCAPO"])
    shown = [label for label in labels if label.lower() != "base"] or labels
    if len(shown) > MANY:
        return f"{len(shown)} methods compared"
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]


def _counts(runs: Runs) -> str:
    kinds: dict[str, Sized] = {
        "training run": runs.train,
        "evaluation": runs.evaluate,
        "drift diagnosis": runs.diagnose,
        "comparison": runs.compare,
        "decoding": runs.decode,
    }
    found = [(len(of_kind), name) for name, of_kind in kinds.items() if of_kind]
    return ", ".join(f"{count} {name if count == 1 else plural(name)}" for count, name in found)


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _asset("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals |= {
        "style": Markup(_asset("style.css")),
        "script": Markup(script),
        "script_hash": digest,
    }
    environment.globals["key"] = lambda style: Markup(key(style))
    environment.filters["trusted"] = Markup  # only for SVG and JSON made by this package, never for run data
    return environment


def _asset(name: str) -> str:
    return resources.files("scapo.report").joinpath("templates", name).read_text(encoding="utf-8")
