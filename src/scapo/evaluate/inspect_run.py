"""Inspect at work: make the model, run the tasks, say what went wrong in sentences."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.setting import SetPlan
from scapo.evaluate.store import SampleStore

ERROR_CHARACTERS = 500  # of an engine's error message; some quote whole responses
MAY_FAIL = 0.1  # share of failed problems after which Inspect stops


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


@contextmanager
def open_model(choice: ModelChoice) -> Iterator[Any]:
    """The model as Inspect sees it; servers and clients that can be closed are closed at the end."""
    from inspect_ai.model import ModelAPI, get_model

    import scapo.evaluate.registry  # noqa: F401 (makes our provider known to Inspect)

    key = missing_key(choice, os.environ)
    with speaking(choice):
        model = get_model(
            choice.inspect_name, base_url=choice.base_url, api_key=key, memoize=False, **choice.args
        )
    try:
        yield model
    finally:
        if type(model.api).close is not ModelAPI.close:
            model.api.close()


def missing_key(choice: ModelChoice, environment: Mapping[str, str]) -> str | None:
    """A stand-in for the key of an endpoint named by --base-url: a server of one's own may need none."""
    provider, _, rest = choice.inspect_name.partition("/")
    if choice.base_url is None or provider not in ("openai-api", "openai"):
        return None
    service = rest.partition("/")[0] if provider == "openai-api" else "openai"
    return None if environment.get(f"{service.upper().replace('-', '_')}_API_KEY") else "none"


@contextmanager
def speaking(choice: ModelChoice) -> Iterator[None]:
    """Turn what Inspect raises about names, keys and missing packages into a sentence."""
    from rich.text import Text

    try:
        yield
    except ScapoError:
        raise
    except Exception as error:  # Inspect's own error types are private
        said = Text.from_markup(str(getattr(error, "message", error))).plain
        raise ScapoError(
            f"Inspect can't use the model {choice.name}: {' '.join(said.split())[:ERROR_CHARACTERS]}"
        ) from error


def describe_engine(model: Any, choice: ModelChoice) -> dict[str, Any]:
    """What is known of the engine, for the results file; loads a local model. No secrets."""
    if describe := getattr(model.api, "describe", None):
        return dict(describe())
    args = {k: v for k, v in choice.args.items() if "key" not in k.lower() and "token" not in k.lower()}
    return {"provider": choice.inspect_name.partition("/")[0], "base_url": choice.base_url, "args": args}


def sample_sets(
    model: Any, choice: ModelChoice, plans: Sequence[SetPlan], out: Path, seed: int, store: SampleStore
) -> None:
    """Sample what the store lacks, all sets in one Inspect run. Raises ScapoError where samples failed."""
    import inspect_ai

    from scapo.evaluate.task import inspect_task

    connections = choice.max_connections or model.api.max_connections()
    with speaking(choice):
        logs = inspect_ai.eval(
            [inspect_task(plan, seed, store) for plan in plans],
            model=model,
            display="none",
            log_dir=str(out / "inspect"),
            log_realtime=False,
            max_tasks=len(plans),
            max_samples=connections,
            max_connections=connections,
            fail_on_error=MAY_FAIL,
            ctl_server=False,
        )
    keys = [key for plan in plans for key in plan.keys]
    if missing := store.missing(keys):
        raise ScapoError(
            f"{len(missing)} of {len(keys)} samples could not be finished; the first error: "
            f"{_first_error(logs)}. The finished ones are kept in {out}: run the same command again to go on."
        )


def _first_error(logs: Sequence[Any]) -> str:
    """The first failed problem's error, else the first failed set's (a run interrupted has neither)."""
    of_samples = (sample.error for log in logs for sample in log.samples or [] if sample.error)
    error = next(of_samples, None) or next((log.error for log in logs if log.error), None)
    return error.message[:ERROR_CHARACTERS].rstrip(".") if error else "none was given"
