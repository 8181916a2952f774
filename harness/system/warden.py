"""Cleans up after one harness process: waits on standard input until that process has ended, then sweeps.

The harness holds the only write end of the pipe and never writes to it, so end of file means that it has ended, be
it by kill -9. Run as ``python -m harness.system.warden OWNER``.
"""

from __future__ import annotations

import signal
import sys

from harness.system.processes import sweep


def main(owner: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    sweep(owner)


if __name__ == "__main__":
    main(sys.argv[1])
