"""``python -m harness.running.packing.program RUN``: pack the finished trials of a run, behind all other work."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

from harness.plugins import registry
from harness.storage.run_store import RunStore
from harness.system import extras
from harness.system.interpreter import collect_rarely

EXTRA = "report"
#: A trial gets ten times its share of a core.
NICENESS = 10


def main(run: Path) -> None:
    """Pack. The errors are those of :func:`harness.storage.parquet_writer.pack`, or that the extra is missing."""
    os.nice(NICENESS)
    collect_rarely()
    with extras.needed(EXTRA, "packing"):
        from harness.storage.parquet_writer import pack

    pack(RunStore(run), registry.table("anomalies"))


def _end(number: int, frame: FrameType | None) -> None:
    """Raise SystemExit, so that what is not complete is removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    main(Path(sys.argv[1]))
