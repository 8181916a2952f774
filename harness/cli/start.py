"""Where the console script begins: a signal that comes while the imports are still running is no traceback."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """The console script ``kafka-trial``; exit codes as in :mod:`harness.cli.main`."""
    _open_streams()
    try:
        from harness.cli.interrupts import ignore
        from harness.cli.main import call

        code = call(sys.argv[1:])
        ignore()  # what is left is to remove what is left of us
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = 130
    sys.exit(code)


def _open_streams() -> None:
    """Put something in the place of each standard stream that is closed (``2>&-``), or evidence would get its number.

    It is opened the wrong way round, so that using it fails as any broken stream does.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDONLY if number else os.O_WRONLY)
            os.dup2(null, number)
            if null != number:
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", errors="backslashreplace"))
