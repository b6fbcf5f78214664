"""Real golds, where the shared data lies beside the checkout."""

import json
import re
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared"


@pytest.fixture(scope="session")
def shared():
    if not SHARED.is_dir():
        pytest.skip("no folder `shared` with real data beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def shared_golds(shared):
    """Distinct real golds that aren't integers, in a fixed order."""
    golds = set()
    for path in (shared / "data").glob("*.jsonl"):
        if "symbolic" not in path.name:
            rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            golds |= {str(row.get("answer", row.get("solution"))) for row in rows}
    return sorted(gold for gold in golds if gold.strip() and not re.fullmatch(r"-?[0-9]+", gold))
