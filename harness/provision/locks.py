"""Committed locks: exactly what is installed with each client version that was tried, by hash.

An adapter keeps them in ``locks/VERSION``, in the format of its registry's own client. ``scripts/lock_clients.py``
writes them. They contain no address. A version without a lock relies on its registry's own checksums, and the user is
warned.
"""

from __future__ import annotations

from pathlib import Path


def lock_of(locks: Path, version: str, *names: str) -> Path | None:
    """Return the first file of a version's lock if all of its files exist."""
    files = [locks / version / name for name in names]
    return files[0] if all(file.is_file() for file in files) else None
