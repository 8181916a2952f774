"""Check for a full disk: a client that cannot write because of it must not be blamed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from harness.model.errors import EnvironmentProblem

#: Roughly the size of one trial's evidence before compression.
LEAST_BYTES: Final = 2**20


def lack_of_room(*folders: Path) -> EnvironmentProblem | None:
    """Return an error about the first folder whose disk is full, or None if there is room or it is unknown."""
    for folder in folders:
        try:
            disk = os.statvfs(folder)
        except OSError:
            continue
        if disk.f_blocks and (free_bytes := disk.f_bavail * disk.f_frsize) < LEAST_BYTES:
            return EnvironmentProblem(
                "disk-full",
                "the disk of {folder} is full: {free_bytes:,} bytes are free",
                folder=folder,
                free_bytes=free_bytes,
            )
    return None
