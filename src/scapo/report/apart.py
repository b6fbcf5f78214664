"""Names and order of compared runs: several comparisons have methods of the same name."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scapo.report.runs import CompareRun, Runs

Home = Path | None  # the folder of the comparison that a run belongs to


def tell_apart(runs: "Runs") -> None:
    """Add a comparison's name to each of its labels that runs outside of it use, too.

    Other settings may lie behind the same method there, and an average of unlike things helps nobody.
    """
    homes = {run.path.resolve(): run for run in runs.compare}
    names = _names(runs.compare)
    users: dict[str, set[Home]] = {}
    loose: list[Any] = [*runs.train, *runs.evaluate]
    placed = [(run, _home(run, list(homes))) for run in loose]
    for label, home in _uses(placed, homes):
        users.setdefault(label, set()).add(home)
    shared = {label for label, found in users.items() if len(found) > 1}
    for run, home in placed:
        if home is not None and run.label in shared:
            run.label = f"{run.label} ({names[home]})"
    for home, compared in homes.items():
        for entry in compared.content["results"].values():
            if (label := str(entry.get("label"))) in shared:
                entry["label"] = f"{label} ({names[home]})"


def in_compared_order(runs: "Runs") -> None:
    """Runs in the order in which comparisons list their methods, then all others as they came."""
    labels = [str(entry.get("label")) for run in runs.compare for entry in run.content["results"].values()]
    rank = {label: place for place, label in reversed(list(enumerate(labels)))}
    runs.train.sort(key=lambda run: rank.get(run.label, len(labels)))
    runs.evaluate.sort(key=lambda run: rank.get(run.label, len(labels)))


def _uses(placed: list[tuple[Any, Home]], homes: "dict[Path, CompareRun]") -> Iterator[tuple[str, Home]]:
    yield from ((run.label, home) for run, home in placed)
    for home, compared in homes.items():
        yield from ((str(entry.get("label")), home) for entry in compared.content["results"].values())


def _home(run: Any, homes: Sequence[Path]) -> Home:
    """A run belongs to the comparison that it lies in, or that its model lies in (a checkpoint, say)."""
    places = [run.path.resolve(), *([Path(model).resolve()] if (model := getattr(run, "model", "")) else [])]
    return next((home for home in homes if any(place.is_relative_to(home) for place in places)), None)


def _names(compared: "Sequence[CompareRun]") -> dict[Path, str]:
    """The folder's name, or its whole path where two have the same."""
    paths = [run.path.resolve() for run in compared]
    names = [path.name for path in paths]
    return {path: path.name if names.count(path.name) == 1 else str(path) for path in paths}
