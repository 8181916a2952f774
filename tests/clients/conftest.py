"""Launches of the little client programs in ``broken/``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import clients.adapters.python_lib
from harness.ports import Launch

LIBRARY = Path(clients.adapters.python_lib.__file__).parent


@pytest.fixture(scope="session")
def program() -> Callable[[str], Launch]:
    """The launch of ``broken/<name>.py``."""
    folder = Path(__file__).parent / "broken"
    return lambda name: Launch(
        (sys.executable, "-s", str(folder / f"{name}.py")), {"PYTHONPATH": str(LIBRARY)}
    )
