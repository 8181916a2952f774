"""Where the console script begins: a signal that comes while the imports are still running is no traceback."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """The console script ``kafka-trial``; exit codes as in :mod:`harness.cli.main`."""
    try:
        from harness.cli.interrupts import ignore
        from harness.cli.main import call

        code = call(sys.argv[1:])
        ignore()  # what is left is to remove what is left of us
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = 130
    sys.exit(code)
