"""Everything a run with a language model can be told, checked before the first request."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from scapo.errors import ScapoError
from scapo.perturb.llm.prompt import DEFAULT_FILE

KEY_VARIABLES = ("SCAPO_LLM_API_KEY", "OPENAI_API_KEY")
FORMATS = ("auto", "json", "text")


@dataclass(frozen=True, kw_only=True)
class LlmSettings:
    """Settings of a run; temperature and seed are sent only where given, since some models refuse them."""

    model: str
    base_url: str = "https://api.openai.com/v1"
    format: str = "auto"
    temperature: float | None = None
    seed: int = 0
    max_tokens: int = 4096
    concurrency: int = 16
    attempts: int = 3
    timeout: float = 120.0
    patience: float = 600.0
    judge: bool = False
    judge_model: str | None = None
    max_requests: int | None = None
    max_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    prompt_file: Path = DEFAULT_FILE

    def __post_init__(self) -> None:
        if not self.model:
            raise ScapoError("No model is named. Give --model, or set SCAPO_LLM_MODEL.")
        if self.format not in FORMATS:
            raise ScapoError(f"--format {self.format} is unknown. Use {', '.join(FORMATS)}.")
        url = urlsplit(self.base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ScapoError(
                f"--base-url {self.base_url} is not a web address such as http://localhost:8000/v1."
            )
        if url.username or url.password:
            raise ScapoError(
                "--base-url holds a user name or password. Keys are read from the environment only."
            )
        for name in ("max_tokens", "concurrency", "attempts", "timeout", "patience"):
            if getattr(self, name) <= 0:
                raise ScapoError(f"--{name.replace('_', '-')} must be above 0, found {getattr(self, name)}.")
        if self.max_cost is not None and (self.price_in is None or self.price_out is None):
            raise ScapoError(
                "--max-cost needs the prices: give --price-in and --price-out in dollars per million tokens."
            )

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Dollars for so many tokens; 0 where no price is given."""
        return ((self.price_in or 0.0) * tokens_in + (self.price_out or 0.0) * tokens_out) / 1e6


def api_key(environment: Mapping[str, str] = os.environ) -> str | None:
    """The key, from the environment only; None where there is none (a local server may need none)."""
    return next((environment[name] for name in KEY_VARIABLES if environment.get(name)), None)
