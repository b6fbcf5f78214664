"""Going back to a checkpoint: lines of steps behind it leave a run's files."""

import json
from pathlib import Path

from scapo.files import cut_torn_tail


def rewind(path: Path, step: int) -> None:
    """Cut a JSONL file of rising steps behind its last line with `step` at most the given one."""
    cut_torn_tail(path)
    if not path.exists():
        return
    keep = 0
    with path.open("rb+") as file:
        for line in file:
            if json.loads(line)["step"] > step:
                break
            keep += len(line)
        file.truncate(keep)
