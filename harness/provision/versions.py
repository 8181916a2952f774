"""Versions of clients: what may stand behind the ``@``, and the order in which versions came.

Registries differ in grammar (PEP 440, semantic versions); what both share is read by ``packaging``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.version import InvalidVersion, Version

from harness.model.errors import UsageError

#: Digits first, then what any of the grammars allows; never an option, a path, a range or a tag that moves.
_PLAIN = re.compile(r"[0-9][0-9A-Za-z]*(?:[-.+][0-9A-Za-z]+)*")


def plain_version(client: str, version: str, example: str) -> str:
    """``version``, if it is written as one. UsageError for anything else: ranges and tags are not a version."""
    if not _PLAIN.fullmatch(version):
        raise UsageError(f"{version!r} is not a version of {client}; an example is {example}")
    return version


def in_order(versions: Iterable[str]) -> list[str]:
    """Oldest first, each once; what no grammar knows is left out."""
    read = {}
    for version in versions:
        try:
            read[version] = Version(version)
        except InvalidVersion:
            continue
    return sorted(read, key=read.__getitem__)
