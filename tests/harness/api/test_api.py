"""The public API: each name is listed once, under a heading, and is documented."""

from __future__ import annotations

from collections import Counter
from inspect import getdoc, isclass, isfunction

import pytest

from harness import api


def test_each_public_name_is_in_one_part_of_the_reference():
    listed = Counter(name for names in api.PARTS.values() for name in names)
    assert set(listed) == set(api.__all__)
    assert set(listed.values()) == {1}


@pytest.mark.parametrize("name", api.__all__)
def test_each_public_name_is_documented(name):
    thing = getattr(api, name)
    if isclass(thing) or isfunction(thing):
        assert name not in api.NOTES
        said = getdoc(thing) or ""
        assert said.endswith((".", "|", "``")) and not said.startswith(f"{name}("), said
    else:
        assert api.NOTES[name].endswith(".")


def own(kind: type) -> dict[str, object]:
    """Return the public methods and properties of a class of the API, without those of a dataclass or Struct."""
    return {
        name: thing
        for each in kind.__mro__
        if each.__module__.startswith("harness.")
        for name, thing in vars(each).items()
        if not name.startswith("_") and (isfunction(thing) or isinstance(thing, property))
    }


@pytest.mark.parametrize(
    ("kind", "name"),
    [(n, m) for n in api.__all__ if isclass(getattr(api, n)) for m in own(getattr(api, n))],
)
def test_each_method_is_documented(kind, name):
    assert getdoc(own(getattr(api, kind))[name]), f"{kind}.{name}"
