"""The folder with real data, where it lies beside the checkout."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared():
    folder = Path(__file__).parents[2].parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder `shared` with real data beside the checkout")
    return folder
