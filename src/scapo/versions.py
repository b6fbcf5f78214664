"""Versions of everything that can change a number; stored with every result."""

import platform
from importlib import metadata

PACKAGES = (
    "scapo",
    "torch",
    "transformers",
    "trl",
    "accelerate",
    "peft",
    "verl",
    "ray",
    "tensordict",
    "TransferQueue",
    "vllm",
    "datasets",
    "tokenizers",
    "math-verify",
    "inspect-ai",
    "numpy",
)


def versions() -> dict[str, str]:
    """Installed versions by package name (absent packages are left out), with python and platform."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
