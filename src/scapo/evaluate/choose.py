"""Which model is meant: a local folder or hub id (our provider), or an Inspect model name."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.inspect_run import ModelChoice
from scapo.evaluate.setting import SetPlan
from scapo.evaluate.statistics import TooFewSamples

PROVIDERS = frozenset(
    {
        "scapo", "vllm", "openai", "openai-api", "anthropic", "google", "mistral", "together", "groq", "hf",
        "ollama", "llama-cpp-python", "sglang", "openrouter", "azureai", "bedrock", "fireworks", "grok",
        "deepseek", "mockllm",
    }
)  # fmt: skip

SHORT_RESPONSE = 512


def choose_model(
    name: str,
    *,
    label: str | None,
    base_url: str | None,
    max_connections: int | None,
    batch_size: int = 32,
    local: Mapping[str, Any],
    args: Mapping[str, Any],
) -> ModelChoice:
    """A folder always wins; then `provider/...` names; anything else is a hub id for our provider.

    `batch_size` is the default for our provider; `local` holds what the user set for it.
    """
    given = {key: value for key, value in local.items() if value is not None}
    folder = Path(name)
    ours = folder.exists() or name.partition("/")[0] not in PROVIDERS
    if given and not (ours or name.startswith("scapo/")):
        options = ", ".join(f"--{key.replace('_', '-')}" for key in given)
        raise ScapoError(
            f"{options} is for local models; {name} runs elsewhere. Leave it out or use --model-arg."
        )
    if folder.exists():
        _check_folder(folder)
    return ModelChoice(
        name=name,
        inspect_name=f"scapo/{name}" if ours else name,
        label=label or training_label(folder) or name.rstrip("/").rpartition("/")[2],
        base_url=base_url,
        args={**({"batch_size": batch_size} if ours else {}), **given, **args},
        max_connections=max_connections,
        fingerprint=weights_fingerprint(folder),
    )


def _check_folder(folder: Path) -> None:
    if not (any(folder.glob("config.json")) or any(folder.glob("*.gguf"))):
        raise ScapoError(
            f"{folder} holds no model (no config.json). Give the folder with the weights, such as RUN/model."
        )


def training_label(folder: Path) -> str | None:
    """The label of the training run whose folder holds the model."""
    file = folder.parent / "config.json"
    if not (folder.is_dir() and file.is_file()):
        return None
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return None
    found = config.get("label") if isinstance(config, dict) and config.get("kind") == "train" else None
    return str(found) if found else None


def weights_fingerprint(folder: Path) -> str | None:
    """Digest of the weights' sizes, beginnings and ends: is it still the same model on resume?"""
    files = sorted([*folder.glob("*.safetensors"), *folder.glob("*.gguf"), *folder.glob("*.bin")])
    if not folder.is_dir() or not files:
        return None
    digest = hashlib.sha256()
    for file in files:
        size = file.stat().st_size
        digest.update(f"{file.name}\0{size}\0".encode())
        with file.open("rb") as handle:
            digest.update(handle.read(1 << 20))
            handle.seek(max(0, size - (4 << 20)))
            digest.update(handle.read())
    return digest.hexdigest()


def default_batch_size(plans: Sequence[SetPlan]) -> int:
    """Short responses of small models go faster in large batches; long ones must fit into memory."""
    return 128 if max(plan.max_tokens for plan in plans) <= SHORT_RESPONSE else 32


def parse_args(values: Sequence[str]) -> dict[str, Any]:
    """`name=value` pairs; values are read as JSON where they are JSON."""
    args: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise ScapoError(f"--model-arg {value} is not a pair. Write it as NAME=VALUE.")
        try:
            args[name] = json.loads(text)
        except ValueError:
            args[name] = text
    return args


def parse_ks(text: str | None, plans: Sequence[SetPlan]) -> list[int] | None:
    """The k of pass@k, checked against the samples of every set before anything runs."""
    if text is None:
        return None
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError as error:
        raise ScapoError(f"--pass-k {text}: write whole numbers with commas, such as 1,8,64.") from error
    if ks[0] < 1:
        raise ScapoError(f"--pass-k {text}: k must be at least 1.")
    for plan in plans:
        if ks[-1] > plan.samples:
            raise TooFewSamples(
                f"pass@{ks[-1]} needs {ks[-1]} samples of every problem and {plan.name} has {plan.samples}. "
                f"Raise --samples or ask for a smaller k."
            )
    return ks
