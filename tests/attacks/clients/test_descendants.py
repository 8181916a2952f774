"""The tree of processes is read while it changes: one that a reading lacks is killed all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

from harness.adapter import keeper

#: A child that lives for an hour, and a first reading of the tree that does not have it.
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


def test_what_one_reading_lacks_is_found_by_the_next():
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
