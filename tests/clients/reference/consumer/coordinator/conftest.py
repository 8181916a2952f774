"""Consumers of one group against scripted brokers (:mod:`suites.properties.group_simulation`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from suites.properties.group_simulation import Group


@pytest.fixture(scope="session")
def group() -> Callable[..., Group]:
    return Group
