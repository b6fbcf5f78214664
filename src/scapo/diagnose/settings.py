"""What a diagnosis is about: its settings, the problems under study, and which folder belongs to it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.files import fingerprint, write_json
from scapo.perturb.kinds import SEMIFACTUAL
from scapo.problems import Problem, chat_prompt, load_problems
from scapo.sampling.local import LocalModel

SETTINGS = "settings.json"
PAPER_MAX_TOKENS = 8192


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that changes a record; a folder is continued only under equal settings."""

    model: str
    data: str
    data_sha256: str
    responses: str | None = None
    responses_sha256: str | None = None
    samples: int = 1
    max_tokens: int | None = None
    group: int = 8
    lam: float = 0.01
    seed: int = 0
    dtype: str | None = None
    gguf_file: str | None = None
    filter_mass: float | None = None
    """Only for d-filtered decoding."""


@dataclass(frozen=True)
class Panel:
    """The problems under study, the kinds of rewrite they have, and how many were left out by reason."""

    problems: list[Problem]
    kinds: list[str]
    left_out: dict[str, int]


def load_panel(path: Path, count: int) -> Panel:
    """The first `count` problems of a file that have a rewrite which keeps the answer.

    Raises ScapoError with the `scapo perturb` remedy when there is none.
    """
    loaded = load_problems(path)
    if not loaded.problems:
        why = f" Its first row was refused: {loaded.refused[0].reason}" if loaded.refused else ""
        raise ScapoError(f"{path} holds no problem. Give the output of scapo perturb.{why}")
    usable = [problem for problem in loaded.problems if _kinds(problem)]
    if not usable:
        raise ScapoError(
            f"None of the {len(loaded.problems)} problems of {path} has rewrites (a 'perturbations' column "
            f"with {', '.join(SEMIFACTUAL)}). "
            f"Make them first: scapo perturb {path} -o {path.stem}.perturbed.jsonl"
        )
    problems = usable[:count]
    there = {kind for problem in problems for kind in _kinds(problem)}
    kinds = [str(kind) for kind in SEMIFACTUAL if kind in there]
    left_out = {"row refused": len(loaded.refused), "no rewrite": len(loaded.problems) - len(usable)}
    return Panel(problems, kinds, left_out)


def _kinds(problem: Problem) -> list[str]:
    return [kind for kind in SEMIFACTUAL if problem.perturbations.get(kind)]


def response_limit(local: LocalModel, asked: int | None) -> int:
    """Tokens a response may have: as asked, else the paper's 8,192 or half of what the model can hold."""
    return asked or min(PAPER_MAX_TOKENS, (local.context or 2 * PAPER_MAX_TOKENS) // 2)


def fitting(panel: Panel, local: LocalModel, max_tokens: int) -> Panel:
    """The panel without problems whose longest prompt and response don't fit the model; none is cut."""
    if local.context is None:
        return panel
    room = local.context - max_tokens
    fit = [problem for problem in panel.problems if _longest_prompt(problem, panel.kinds, local) <= room]
    if not fit:
        raise ScapoError(
            f"The model holds {local.context:,} tokens, which leaves {room:,} for the prompt beside "
            f"responses of {max_tokens:,}; no prompt is that short. Lower --max-tokens."
        )
    dropped = len(panel.problems) - len(fit)
    return Panel(fit, panel.kinds, {**panel.left_out, "prompt too long": dropped})


def _longest_prompt(problem: Problem, kinds: Sequence[str], local: LocalModel) -> int:
    texts = [problem.problem, *(problem.perturbations.get(kind) for kind in kinds)]
    return max(len(local.prompt_ids(chat_prompt(text))) for text in texts if text)


def claim(out: Path, settings: Settings) -> None:
    """Note the settings in `out`, or compare them with the ones noted there by an earlier run.

    A run that stopped before its first result (a wrong model name, say) binds nobody: its settings are replaced.
    """
    path = out / SETTINGS
    new = asdict(settings)
    old = _noted(path)
    if old is None or not any(file.stat().st_size for file in out.glob("*") if file != path):
        write_json(path, new)
        return
    changed = [
        f"{name} was {old.get(name)!r} and is {new[name]!r}" for name in new if old.get(name) != new[name]
    ]
    if changed:
        raise ScapoError(
            f"{out} holds results made with other settings: {'; '.join(changed)}. Give another folder "
            "with -o, or delete this one."
        )


def _noted(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ScapoError(f"{path} is no settings file of a run. Give another folder with -o.")
    return found


def hashed(path: Path | None) -> str | None:
    """SHA-256 of a file's bytes; None without a file. A missing file raises a ScapoError."""
    if path is None:
        return None
    if not path.is_file():
        raise ScapoError(f"{path} is not a file. Check the path.")
    return fingerprint(path)


def label_of(model: str) -> str:
    """The label of the training run whose folder holds the model, else the folder's name."""
    config = Path(model).parent / "config.json"
    try:
        found = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if isinstance(found, dict) and found.get("kind") == "train" and found.get("label"):
        return str(found["label"])
    return model.rstrip("/").rpartition("/")[2]
