"""Whether a disk is full: what a client does that cannot write is no evidence against it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

#: About what the evidence of one trial takes before it is compressed.
LEAST_BYTES: Final = 2**20


def lack_of_room(*folders: Path) -> str | None:
    """The sentence on the first of the folders whose disk is full; None if there is room, or it cannot be told."""
    for folder in folders:
        try:
            disk = os.statvfs(folder)
        except OSError:
            continue
        if disk.f_blocks and (free_bytes := disk.f_bavail * disk.f_frsize) < LEAST_BYTES:
            return f"the disk of {folder} is full: {free_bytes:,} bytes are free"
    return None
