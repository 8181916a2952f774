"""What the scripted brokers do otherwise than real ones, and why it stays so. The comparison lets this pass, no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final


def _any(_real: Any, _scripted: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Known:
    """A difference that may be: in the answers to ``api``, at ``path`` (a pattern), if ``holds`` of the two values."""

    name: str
    api: str
    path: str
    reason: str
    versions: tuple[str, ...] = ()
    holds: Callable[[Any, Any], bool] = _any


KNOWN: Final[tuple[Known, ...]] = (
    Known(
        "APIs that are not offered",
        "ApiVersions",
        "api_keys.*",
        "The scripted brokers offer what a client under trial asks for; the administration of a cluster is not part of it.",
        holds=lambda _real, scripted: scripted == "absent",
    ),
    Known(
        "features",
        "ApiVersions",
        "*features*",
        "No client under trial reads the features of a cluster (KIP-584).",
    ),
)


def reason(version: str, api: str, path: str, real: Any, scripted: Any) -> Known | None:
    """The entry that allows a difference."""
    for known in KNOWN:
        if known.api == api and fnmatchcase(path, known.path) and (not known.versions or version in known.versions):
            if known.holds(real, scripted):
                return known
    return None
