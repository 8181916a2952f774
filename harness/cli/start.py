"""The entry point of the console script. A signal or a damaged package during the imports causes no traceback."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # typeshed does not have it
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TRACEBACK = "KAFKA_TRIAL_TRACEBACK"


def main() -> NoReturn:
    """Run the console script ``kafka-trial``; exit codes as in :mod:`harness.cli.main`."""
    _open_streams()
    try:
        try:
            with _noted():
                from harness.cli.interrupts import block
                from harness.cli.main import execute
        except Exception as error:
            sys.exit(_not_loaded(error))
        code = execute(sys.argv[1:])
        block()  # only cleanup remains
    except (Exception, SystemExit):
        raise
    except BaseException as error:  # a signal beside the command, during the imports for example
        # Further signals change nothing. Python raises after calls and at the begin of its own functions, so none can
        # raise before the inner block, and this function of C has blocked them when the one that had just arrived does.
        try:
            _signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        except BaseException:
            pass
        sys.stderr.write("interrupted\n")
        code = 128 + getattr(error, "number", signal.SIGINT)
    sys.exit(code)


@contextmanager
def _noted() -> Iterator[None]:
    """Raise KeyboardInterrupt after the imports if a SIGINT came during them.

    Within them it may come in a finalizer or a callback, where Python reports an exception, and goes on without it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if received:
        raise KeyboardInterrupt


def _not_loaded(error: Exception) -> int:
    """Report a package that cannot be imported. The usual reports need packages themselves."""
    if os.environ.get(TRACEBACK):
        raise error
    said = (str(error).splitlines() or ["it said nothing"])[0]
    problem = f"a package of this environment cannot be imported: {type(error).__name__}: {said}"
    sys.stderr.write(f"error[package-not-importable]: {problem}\n")
    sys.stderr.write(f"hint: {TRACEBACK}=1 shows which one; install it again\n")
    return 3


def _open_streams() -> None:
    """Replace each closed standard stream (``2>&-``), or an evidence file would get its descriptor.

    Each is opened with the wrong mode, so that using it fails as with any broken stream.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDONLY if number else os.O_WRONLY)
            os.dup2(null, number)
            if null != number:
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", errors="backslashreplace"))
