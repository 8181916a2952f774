"""Versions of clients: which text is valid after the ``@``, and how versions are ordered.

Registries differ in their grammar (PEP 440, semantic versions). ``packaging`` reads what both share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.version import InvalidVersion, Version

from harness.model.errors import UsageError

#: Digits first, followed by whatever a grammar allows. It never matches an option, a path, a range or a moving tag.
_PLAIN = re.compile(r"[0-9][0-9A-Za-z]*(?:[-.+][0-9A-Za-z]+)*")


def plain_version(client: str, version: str, example: str) -> str:
    """Return ``version`` if it has the form of a version. Raises UsageError otherwise, e.g. for ranges and tags."""
    if not _PLAIN.fullmatch(version):
        raise UsageError(
            "client-version-format",
            "{version!r} is not a version of {client}; an example is {example}",
            version=version,
            client=client,
            example=example,
        )
    return version


def unknown_version(named: str, package: str, newest: str | None) -> UsageError:
    """Return the error for a version that does not exist, with the newest one if it is known."""
    if newest is None:
        return UsageError("unknown-client-version", "{named} does not exist", named=named)
    return UsageError(
        "unknown-client-version",
        "{named} does not exist; the newest {package} is {newest}",
        named=named,
        package=package,
        newest=newest,
    )


def in_order(versions: Iterable[str]) -> list[str]:
    """Return the versions without duplicates, oldest first. Those that match no grammar are omitted."""
    read = {}
    for version in versions:
        try:
            read[version] = Version(version)
        except InvalidVersion:
            continue
    return sorted(read, key=read.__getitem__)
