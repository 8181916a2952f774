"""The keeper kills a descendant that is missing from its first reading of the process tree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

from harness.adapter import keeper

#: A child that sleeps for an hour, and a first reading of the process tree in which it is missing.
MISSED = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
import keeper

signal.pthread_sigmask(signal.SIG_BLOCK, keeper.HEARD)
child = os.fork()
if child == 0:
    time.sleep(3600)
    os._exit(0)
read, lacking = keeper.descendants, [set()]
keeper.descendants = lambda: lacking.pop() if lacking else read()
print(os.waitstatus_to_exitcode(keeper.end_descendants(child)))
"""


def test_child_missing_from_first_reading_is_killed():
    folder = keeper.__file__.rpartition("/")[0]
    with subprocess.Popen(
        [sys.executable, "-I", "-c", MISSED, folder],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.communicate(timeout=20)[0] == "-9\n"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
