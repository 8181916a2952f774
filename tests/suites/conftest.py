"""Stories as evidence: the builder, and the strategy of stories with a correct client and broker."""

from __future__ import annotations

import pytest

from tests.suites.faithful import stories
from tests.suites.story import Story


@pytest.fixture(scope="session")
def story() -> type[Story]:
    """Return the builder."""
    return Story


@pytest.fixture(scope="session")
def faithful():  # type: ignore[no-untyped-def]
    """Return the strategy of correct stories, by guarantee."""
    return stories
