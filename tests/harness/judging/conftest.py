"""The builder of evidence for the tests of judging."""

from __future__ import annotations

import pytest

from tests.suites.story import Story


@pytest.fixture(scope="session")
def story() -> type[Story]:
    return Story
