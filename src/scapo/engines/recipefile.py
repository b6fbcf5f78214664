"""The recipe's file, before an engine looks at what it says."""

from pathlib import Path
from typing import Any

import yaml

from scapo.errors import ScapoError


def read_recipe(path: Path, examples: str) -> dict[str, Any]:
    """The content of a YAML file of `key: value` lines; `examples` is the folder of recipes to point to.

    Raises:
        ScapoError: naming the file and what is wrong with it.
    """
    if not path.is_file():
        raise ScapoError(f"{path} is not a file. Recipes that come with SCAPO are in the folder {examples}.")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ScapoError(f"{path} is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        raise ScapoError(f"{path} must hold `key: value` lines at its top level, such as `model: ...`.")
    return content
