"""Assertions on errors by code and parameters, so that no test depends on the wording of a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.plugins.check import NoOpinion
from harness.text.sentences import Coded


@dataclass(frozen=True)
class Expected:
    """An expected error: its code, and those of its parameters that matter."""

    code: str
    params: dict[str, Any] = field(default_factory=dict)


def coded(code: str, /, **params: Any) -> Expected:
    """Return an expected error, as a case of a parametrized test."""
    return Expected(code, params)


@contextmanager
def raises_code(
    kind: type[BaseException], code: str | Expected, /, **params: Any
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Like ``pytest.raises``, for an error with this code and these parameters.

    A parameter is compared as text. A pattern must match within it, and an ``Expected`` is the error that is the
    reason. ``where`` is compared with the innermost place of the error.
    """
    with pytest.raises(kind) as caught:
        yield caught
    expected = code if isinstance(code, Expected) else Expected(code)
    assert_error(caught.value, Expected(expected.code, {**expected.params, **params}))


def assert_error(error: object, expected: Expected) -> None:
    """Assert that an error, or the reason of a check that gives no opinion, is the expected one."""
    found: Any = error.reason if isinstance(error, NoOpinion) else error
    assert found.code == expected.code, f"{found.code}: {error}"
    params = {**found.params, "where": found.where[-1]} if getattr(found, "where", ()) else found.params
    for name, value in expected.params.items():
        _assert_param(name, params[name], value)


def has_error(told: str | BaseException, code: str, /, *data: object) -> bool:
    """Whether an error, or the output of the command line, has this code and all of ``data`` in its sentence.

    The code can also be that of the error's reason. ``data`` are names, numbers and paths, never words around them.
    """
    if isinstance(told, Coded):
        codes = {told.code, *(reason.code for reason in told.reasons())}
        return code in codes and all(str(each) in str(told) for each in data)
    lines = [line for line in str(told).splitlines() if line.startswith(f"error[{code}]: ")]
    return any(all(str(each) in line for each in data) for line in lines)


def _assert_param(name: str, found: object, expected: object) -> None:
    if isinstance(expected, Expected):
        assert isinstance(found, Coded), f"{name} is not an error: {found!r}"
        assert_error(found, expected)
    elif isinstance(expected, re.Pattern):
        assert expected.search(str(found)), f"{name}: {found!r} does not match {expected.pattern!r}"
    else:
        assert str(found) == str(expected), f"{name}: {found!r} is not {expected!r}"
