"""Run an evaluation: sample what is missing through Inspect, then write `results.json`."""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.inspect_run import ModelChoice, describe_engine, open_model, sample_sets
from scapo.evaluate.results import aggregates, common_sampling, set_results, truncation_warnings
from scapo.evaluate.setting import SetPlan
from scapo.evaluate.store import SampleStore
from scapo.files import output_lock, write_json
from scapo.versions import versions


def evaluate(
    model: ModelChoice,
    plans: Sequence[SetPlan],
    out: Path,
    *,
    seed: int = 0,
    ks: Sequence[int] | None = None,
    on_sample: Callable[[], None] = lambda: None,
    command: str | None = None,
) -> dict[str, Any]:
    """Evaluate `plans` into folder `out` (resuming what is there) and return the results."""
    with output_lock(out):
        _check_settings(out, model, plans, seed)
        store = SampleStore(out / "samples.jsonl", on_sample)
        try:
            engine = _sample(model, plans, out, seed, store)
            rows = {plan.name: [store.rows[key] for key in plan.keys] for plan in plans}
        finally:
            store.close()
        suites = {plan.name: set_results(plan, rows[plan.name], ks) for plan in plans}
        results = {
            "kind": "evaluate",
            "model": model.name,
            "label": model.label,
            "seed": seed,
            "sampling": common_sampling(plans),
            "suites": suites,
            "aggregates": aggregates(plans, [row for one in rows.values() for row in one]),
            "warnings": truncation_warnings(suites),
            "engine": engine,
            "versions": versions(),
            "command": command or shlex.join(["scapo", *sys.argv[1:]]),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        write_json(out / "results.json", results)
        return results


def _check_settings(out: Path, model: ModelChoice, plans: Sequence[SetPlan], seed: int) -> None:
    """A folder belongs to one model, seed and sampling; another one would mix unlike samples."""
    path = out / "settings.json"
    ours: dict[str, Any] = {"model": model.name, "weights": model.fingerprint, "seed": seed}
    sets = {plan.name: plan.identity() for plan in plans}
    if path.exists():
        theirs = json.loads(path.read_text(encoding="utf-8"))
        changed = [name for name in ours if theirs.get(name) != ours[name]]
        known = theirs.get("sets", {})
        changed += [
            f"{p.name} ({name})" for p in plans for name in p.conflicts(known.get(p.name, sets[p.name]))
        ]
        if changed:
            raise ScapoError(
                f"{out} holds an evaluation with other settings; different: {', '.join(changed)}. "
                "Use the same settings to resume it, or another --out."
            )
        sets = {**known, **sets}
    write_json(path, {**ours, "sets": sets})


def _sample(
    model: ModelChoice, plans: Sequence[SetPlan], out: Path, seed: int, store: SampleStore
) -> dict[str, Any]:
    """Sample every missing key; returns what is known of the engine (from disk where nothing is missing)."""
    engine_file = out / "engine.json"
    open_plans = [plan for plan in plans if store.missing(plan.keys)]
    if not open_plans and engine_file.exists():
        return dict(json.loads(engine_file.read_text(encoding="utf-8")))
    with open_model(model) as instance:
        engine = describe_engine(instance, model)
        write_json(engine_file, engine)
        sample_sets(instance, model, open_plans, out, seed, store)
    return engine
