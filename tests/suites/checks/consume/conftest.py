"""Stories of groups as evidence."""

from __future__ import annotations

import pytest

from tests.suites.checks.consume.call_story import CallStory
from tests.suites.checks.consume.group_stories import calm as calm_story
from tests.suites.checks.consume.group_stories import (
    with_a_throwing_listener,
    with_damage,
    with_transactions,
    with_truncation,
)


@pytest.fixture(scope="session")
def group() -> type[CallStory]:
    """Return the builder."""
    return CallStory


@pytest.fixture(scope="session")
def calm():  # type: ignore[no-untyped-def]
    """Return what makes a story that no check accuses, in which a partition moves."""
    return calm_story


@pytest.fixture(scope="session")
def transactional():  # type: ignore[no-untyped-def]
    """Return what makes a story that no check accuses, with transactions that commit and abort."""
    return with_transactions


@pytest.fixture(scope="session")
def truncated():  # type: ignore[no-untyped-def]
    """Return what makes a story in which a log loses its end after a member has read it."""
    return with_truncation


@pytest.fixture(scope="session")
def throwing():  # type: ignore[no-untyped-def]
    """Return what makes a story that no check accuses, in which a listener throws."""
    return with_a_throwing_listener


@pytest.fixture(scope="session")
def damaged():  # type: ignore[no-untyped-def]
    """Return what makes a story that no check accuses, in which a member stays at a damaged batch."""
    return with_damage
