"""Stories as evidence: the builder, and the strategy of those in which client and broker do everything right."""

from __future__ import annotations

import pytest

from tests.suites.faithful import stories
from tests.suites.story import Story


@pytest.fixture(scope="session")
def story() -> type[Story]:
    """The builder."""
    return Story


@pytest.fixture(scope="session")
def faithful():  # type: ignore[no-untyped-def]
    """The strategy of correct stories, by guarantee."""
    return stories
