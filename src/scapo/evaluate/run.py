"""Run an evaluation: sample what is missing through Inspect, then write `results.json`."""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.results import aggregates, common_sampling, set_results, truncation_warnings
from scapo.evaluate.setting import SetPlan
from scapo.evaluate.store import Key, SampleStore
from scapo.files import write_json
from scapo.versions import versions

ERROR_CHARACTERS = 500  # of an engine's error message; some quote whole responses


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """Which model, through which Inspect provider; `args` go to the provider."""

    name: str
    inspect_name: str
    label: str
    base_url: str | None = None
    args: dict[str, Any] = field(default_factory=dict)
    max_connections: int | None = None
    fingerprint: str | None = None


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


def missing_keys(plans: Sequence[SetPlan], store: SampleStore) -> list[Key]:
    return store.missing(key for plan in plans for key in plan.keys)


def _check_settings(out: Path, model: ModelChoice, plans: Sequence[SetPlan], seed: int) -> None:
    """A folder belongs to one model, seed and sampling; another one would mix unlike samples."""
    path = out / "settings.json"
    ours: dict[str, Any] = {"model": model.name, "weights": model.fingerprint, "seed": seed}
    sets = {plan.name: plan.identity() for plan in plans}
    if path.exists():
        theirs = json.loads(path.read_text(encoding="utf-8"))
        changed = [name for name in ours if theirs.get(name) != ours[name]]
        known = theirs.get("sets", {})
        changed += [f"{n} ({f})" for n, s in sets.items() if n in known for f in s if known[n].get(f) != s[f]]
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
    """Sample every missing key; returns what is known of the engine."""
    engine_file = out / "engine.json"
    open_plans = [plan for plan in plans if store.missing(plan.keys)]
    if not open_plans and engine_file.exists():
        return dict(json.loads(engine_file.read_text(encoding="utf-8")))
    from inspect_ai.model import get_model

    import scapo.evaluate.registry  # noqa: F401 (makes our provider known to Inspect)

    instance = get_model(model.inspect_name, base_url=model.base_url, memoize=False, **model.args)
    describe = getattr(instance.api, "describe", None)
    engine = (
        describe() if describe else {"provider": model.inspect_name.split("/")[0], "args": _plain(model.args)}
    )
    write_json(engine_file, engine)
    error = _run_inspect(instance, model, open_plans, out, seed, store)
    _check_complete(open_plans, store, out, error)
    return dict(engine)


def _run_inspect(
    instance: Any, model: ModelChoice, plans: Sequence[SetPlan], out: Path, seed: int, store: SampleStore
) -> str | None:
    """Run all open sets in one Inspect evaluation; returns the first error's text, if any."""
    import inspect_ai

    from scapo.evaluate.task import inspect_task

    connections = model.max_connections or instance.api.max_connections()
    with instance:
        logs = inspect_ai.eval(
            [inspect_task(plan, seed, store) for plan in plans],
            model=instance,
            display="none",
            log_dir=str(out / "inspect"),
            log_realtime=False,
            max_tasks=len(plans),
            max_samples=connections,
            max_connections=connections,
            fail_on_error=0.1,
            ctl_server=False,
        )
    errors = [log.error for log in logs if log.error]
    return errors[0].message[:ERROR_CHARACTERS] if errors else None


def _check_complete(plans: Sequence[SetPlan], store: SampleStore, out: Path, error: str | None) -> None:
    missing = missing_keys(plans, store)
    if missing:
        asked = sum(len(plan.keys) for plan in plans)
        raise ScapoError(
            f"{len(missing)} of {asked} samples could not be finished; the first error: "
            f"{error or 'none was given'}. The finished ones are kept in {out}: run the same command "
            "again to go on."
        )


def _plain(args: dict[str, Any]) -> dict[str, Any]:
    """Provider arguments for the results file, without anything that looks like a secret."""
    return {k: v for k, v in args.items() if "key" not in k.lower() and "token" not in k.lower()}
