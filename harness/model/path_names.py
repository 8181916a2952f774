"""Names that become folders, of runs and of trials: one path component each, so that nothing is written elsewhere.

A new one is of plain characters. What is there already may be called anything that does not lead out of its folder.
"""

from __future__ import annotations

import re

from harness.model.errors import UsageError

#: What a file system takes in one component.
LONGEST = 255
_STRANGE = re.compile(r"[^A-Za-z0-9._@+-]")


def component(name: str, what: str) -> str:
    """``name``, if it is one component of a path; UsageError for one that leads elsewhere."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise UsageError(
            f"{name!r} cannot be the name of a {what}: its folder would not be in that of the others"
        )
    return name


def folder_name(name: str, what: str) -> str:
    """``name``, if it can be that of a new folder; UsageError for any that is strange, or leads elsewhere."""
    if _STRANGE.search(name) or not name or name.startswith(".") or len(name) > LONGEST:
        raise UsageError(
            f"{name[:LONGEST]!r} cannot be the name of a {what}: "
            f"one to {LONGEST} of A-Z, a-z, 0-9 and ._@+- can, and no dot begins it"
        )
    return name


def made_of(text: str) -> str:
    """A name for a folder, as near to ``text`` as there is one."""
    name = _STRANGE.sub("_", text)[:LONGEST]
    return f"_{name[1:]}" if name.startswith(".") else name
