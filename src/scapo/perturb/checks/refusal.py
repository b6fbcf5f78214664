"""Why a rewrite is not used."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """`code` is stable and countable, `message` is a sentence for a person (or for the model that is asked again)."""

    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
