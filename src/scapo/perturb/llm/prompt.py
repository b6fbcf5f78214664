"""The prompt: a text file with a version, its parts rendered into chat messages."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template, TemplateError

from scapo.errors import ScapoError
from scapo.perturb.kinds import Kind

DEFAULT_FILE = Path(__file__).with_name("prompt.md")
PARTS = ("system", "user", "judge")
Messages = list[dict[str, str]]

_ENVIRONMENT = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=False)


@dataclass(frozen=True)
class Refused:
    """An earlier attempt at a kind that was refused: shown to the model with its reason when asked again."""

    kind: Kind
    text: str | None
    reason: str


@dataclass(frozen=True)
class Prompt:
    """The templates of one prompt file; `version` changes with every edit of the file."""

    version: str
    parts: Mapping[str, Template]

    def rewrite(
        self,
        problem: str,
        answer: str,
        *,
        kinds: Sequence[Kind],
        wanted: Sequence[Kind],
        format: str,
        refusals: Sequence[Refused] = (),
    ) -> Messages:
        """Messages that ask for some kinds of one problem; the system part is the same for a whole run."""
        user = self._render(
            "user", problem=problem, answer=answer, wanted=[*wanted], format=format, refusals=refusals
        )
        return [
            {"role": "system", "content": self._render("system", kinds=[*kinds])},
            {"role": "user", "content": user},
        ]

    def judge(self, original: str, rewrite: str) -> Messages:
        """Messages that ask whether both texts have the same answer."""
        return [{"role": "user", "content": self._render("judge", original=original, rewrite=rewrite)}]

    def _render(self, part: str, **values: Any) -> str:
        try:
            return self.parts[part].render(values).strip()
        except TemplateError as error:
            raise ScapoError(f"The {part} part of the prompt file can't be filled in: {error}.") from error


def load_prompt(path: Path = DEFAULT_FILE) -> Prompt:
    """Read a prompt file; its version is `prompt-<declared>-<hash of the text>`.

    Raises ScapoError where the file, its version line or a part is missing, or a part isn't a template.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScapoError(f"The prompt file {path} can't be read: {error}.") from error
    declared = re.match(r"version: *(\S+)", text)
    if declared is None:
        raise ScapoError(f"The prompt file {path} must begin with a line such as 'version: 1'.")
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return Prompt(f"prompt-{declared[1]}-{digest}", _parts(path, text))


def _parts(path: Path, text: str) -> dict[str, Template]:
    pieces = re.split(r"^=== (\w+) ===\n", text, flags=re.MULTILINE)
    found = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    missing = [name for name in PARTS if name not in found]
    if missing:
        raise ScapoError(
            f"The prompt file {path} has no part named {', '.join(missing)}. Each part begins with a line "
            "such as '=== system ==='."
        )
    try:
        return {name: _ENVIRONMENT.from_string(found[name]) for name in PARTS}
    except TemplateError as error:
        raise ScapoError(f"The prompt file {path} is not a valid template: {error}.") from error
