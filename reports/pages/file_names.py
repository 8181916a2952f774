"""The names of pages about clients and comparisons, whose own names may have any character."""

from __future__ import annotations

import re

from harness.storage import kept

MOST_CHARS = 80
_BETWEEN = "-vs-"
_OTHER = re.compile(r"[^A-Za-z0-9._@+-]+")


def page_of(*names: str) -> str:
    """Return the file name of the page about these names."""
    return f"{file_name(*names)}.html"


def file_name(*names: str) -> str:
    """Return a file name for these names, without suffix. Different names have different ones."""
    slugs = [_OTHER.sub("-", name).strip(".-") for name in names]
    slug = _BETWEEN.join(slugs)[:MOST_CHARS]
    if slug == _BETWEEN.join(names) and not any(_BETWEEN in name for name in names):
        return slug
    digest = kept.digest("\0".join(names).encode())[:8]
    return f"{slug}-{digest}".lstrip("-")
