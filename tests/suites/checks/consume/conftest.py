"""Stories of groups as evidence."""

from __future__ import annotations

import pytest

from tests.suites.checks.consume.group_story import GroupStory
from tests.suites.checks.consume.group_story import calm as calm_story


@pytest.fixture(scope="session")
def group() -> type[GroupStory]:
    """Return the builder."""
    return GroupStory


@pytest.fixture(scope="session")
def calm():  # type: ignore[no-untyped-def]
    """Return what makes a story that no check accuses, in which a partition moves."""
    return calm_story
