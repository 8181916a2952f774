"""One Spark session for the tests of a module."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from reports.spark.session import spark_context


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Yield a session. PySpark 4.0 leaves its sockets to the garbage collector."""
    with spark_context("local[2]") as session:
        yield session
    gc.collect()
