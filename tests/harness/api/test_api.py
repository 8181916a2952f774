"""The public API: each name is listed once, under a heading, and says what it is."""

from __future__ import annotations

from collections import Counter
from inspect import getdoc

import pytest

from harness import api


def test_each_public_name_is_in_one_part_of_the_reference():
    listed = Counter(name for names in api.PARTS.values() for name in names)
    assert set(listed) == set(api.__all__)
    assert set(listed.values()) == {1}


@pytest.mark.parametrize("name", api.__all__)
def test_each_public_name_is_there_and_says_what_it_is(name):
    thing = getattr(api, name)
    assert not isinstance(thing, type) or getdoc(thing)
