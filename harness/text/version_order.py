"""The order of clients in every list: by name, and then by version, so that 2.3.0 comes before 2.16.1."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(\d{1,18})")


def by_version(client: str) -> list[tuple[int, str]]:
    """Return a sort key for ``name@version``, or for a version. Numbers in it are compared as numbers."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(client)]
