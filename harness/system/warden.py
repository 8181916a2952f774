"""Clean up after one harness process: wait on standard input until it has ended, then sweep.

The harness holds the only write end of the pipe and never writes to it. End of file therefore means that it has ended,
even by kill -9. Run as ``python -m harness.system.warden OWNER``.
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
