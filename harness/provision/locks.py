"""Committed locks: for each version of a client that was tried, what exactly is installed with it, by its hashes.

An adapter keeps them in ``locks/VERSION``, in the format of its registry's own client; ``scripts/lock_clients.py``
writes them. They hold no address. A version without a lock rests on its registry's own sums, and the user is told.
"""

from __future__ import annotations

from pathlib import Path


def lock_of(locks: Path, version: str, *names: str) -> Path | None:
    """The first file of a version's lock, if all of its files are there."""
    files = [locks / version / name for name in names]
    return files[0] if all(file.is_file() for file in files) else None
