"""Follow a log that another process writes, in whole lines."""

from __future__ import annotations

import os
from pathlib import Path

from harness.files import open_stored


class LogTail:
    """The lines that are appended to ``log``. Its present content is skipped."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read_bytes = log.stat().st_size if log.exists() else 0

    def new_lines(self) -> list[bytes]:
        """Return the complete lines since the last call, without their line ends."""
        with os.fdopen(open_stored(self._log), "rb") as file:
            file.seek(self._read_bytes)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        return whole.splitlines()
