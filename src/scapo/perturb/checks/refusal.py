"""Why a rewrite is not used."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """`code` is stable and countable, `message` a sentence for a person or for the model that wrote."""

    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
