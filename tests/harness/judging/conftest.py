"""The builder of evidence that the tests of checks use."""

from __future__ import annotations

import pytest

from tests.suites.story import Story


@pytest.fixture(scope="session")
def story() -> type[Story]:
    return Story
