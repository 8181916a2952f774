"""Names that become folders, of runs and of trials. Each is one path component, so no file is written elsewhere.

A new name has plain characters only. An existing folder may have any name that does not lead out of its parent.
"""

from __future__ import annotations

import re
from hashlib import sha256

from harness.model.errors import UsageError

#: The maximum length of a path component in most file systems.
LONGEST = 255
_STRANGE = re.compile(r"[^A-Za-z0-9._@+-]")


#: The length of the hash that ends a shortened name.
DIGEST_CHARS = 8


def shortened(text: str, most: int) -> str:
    """Return ``text`` if it has at most ``most`` characters, else its beginning and a hash of the whole."""
    if len(text) <= most:
        return text
    digest = sha256(text.encode()).hexdigest()[:DIGEST_CHARS]
    return f"{text[: most - DIGEST_CHARS - 1]}-{digest}"


def component(name: str, what: str) -> str:
    """Return ``name`` if it is one path component. Raise UsageError if it leads elsewhere."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise UsageError(
            "name-leaves-folder",
            "{name!r} cannot be the name of a {what}: it would lead to another folder",
            name=name,
            what=what,
        )
    return name


def folder_name(name: str, what: str) -> str:
    """Return ``name`` if it can name a new folder. Raise UsageError for other characters or if it leads elsewhere."""
    if _STRANGE.search(name) or not name or name.startswith(".") or len(name) > LONGEST:
        raise UsageError(
            "name-not-portable",
            "{name!r} cannot be the name of a {what}: use 1 to {most} of A-Z, a-z, 0-9 and ._@+-, without a dot at "
            "the beginning",
            name=name[:LONGEST],
            what=what,
            most=LONGEST,
        )
    return name


def made_of(text: str) -> str:
    """Return the valid folder name that is closest to ``text``."""
    name = _STRANGE.sub("_", text)[:LONGEST]
    return f"_{name[1:]}" if name.startswith(".") else name
