"""For tests of whatever reads or changes bytes: any value of any of Kafka's messages, and any way to cut a stream."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import pytest
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

import clients.adapters.python_lib
from harness.plugins.client import Launch

INTS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    **{name: st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in INTS.items()},
    "uint16": st.integers(0, 2**16 - 1),
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    "bytes": st.binary(max_size=5),
    "records": st.binary(max_size=5),
    "error_code": st.sampled_from(ErrorCode),
    "uuid": st.none() | st.uuids().filter(lambda value: value.int != 0),
    "timedelta_i32": st.integers(-(2**31), 2**31 - 1).map(lambda ms: timedelta(milliseconds=ms)),
    "timedelta_i64": st.integers(-(2**40), 2**40).map(lambda ms: timedelta(milliseconds=ms)),
    "datetime_i64": st.integers(0, 2**41).map(
        lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    ),
}


def without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) is UnionType:
        return next(part for part in get_args(annotation) if part is not NoneType), True
    return annotation, False


def any_message(entity: Any) -> st.SearchStrategy[Any]:
    """Any value of one of kio's classes."""
    parts = {}
    for field in fields(entity):
        annotation, nullable = without_none(field.type)
        is_array = get_origin(annotation) is tuple
        item = without_none(get_args(annotation)[0])[0] if is_array else annotation
        value = any_message(item) if is_dataclass(item) else PLAIN[field.metadata["kafka_type"]]
        if is_array:
            value = st.lists(value, max_size=2).map(tuple)
        if nullable:
            value = st.none() | value
        if "tag" in field.metadata and field.default is not MISSING:
            value = st.just(field.default) | (value.filter(lambda v: v is not None) if nullable else value)
        parts[field.name] = value
    return st.builds(entity, **parts)


@pytest.fixture(scope="session")
def messages() -> Callable[[Any], st.SearchStrategy[Any]]:
    """From one of kio's classes to the strategy of its values; test modules cannot import each other."""
    return any_message


@pytest.fixture(scope="session")
def chunked() -> Callable[[bytes, list[int]], list[bytes]]:
    """Cut bytes at the given places (taken modulo the length)."""

    def cut(data: bytes, places: list[int]) -> list[bytes]:
        at = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
        return [data[low:high] for low, high in pairwise(at)]

    return cut


@pytest.fixture(scope="session")
def program() -> Callable[[str], Launch]:
    """The launch of a client from ``suites/contract/broken``."""
    library = str(Path(clients.adapters.python_lib.__file__).parent)
    folder = Path(__file__).parent / "suites" / "contract" / "broken"
    return lambda name: Launch((sys.executable, "-s", str(folder / f"{name}.py")), {"PYTHONPATH": library})


@pytest.fixture
def user_is(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that makes this process seem to run as a user."""
    # A process that has really changed its user cannot change back, which would affect the other tests.
    return lambda uid: monkeypatch.setattr(os, "geteuid", lambda: uid)


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this process and its children create their temporary files in the folder of the test, and return it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    # This process may have read the environment before.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path
