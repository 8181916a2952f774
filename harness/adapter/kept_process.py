"""A client under test as a process: with a keeper, a restricted environment, and limits enforced by the kernel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.adapter import keeper
from harness.model.errors import EnvironmentProblem
from harness.system import processes
from harness.system.processes import PIPE, Child

#: The kernel should kill a client first when memory runs out.
OOM_SCORE: Final = 800


def has_namespaces() -> bool:
    """Return whether clients run in PID namespaces on this machine."""
    argv = [sys.executable, "-I", "-S", keeper.__file__, keeper.PROBE]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


async def start(
    argv: Sequence[str],
    env: Mapping[str, str],
    log: Path,
    *,
    folder: str | None = None,
    file_bytes: int,
    line_bytes: int,
    is_namespaced: bool = True,
) -> Child:
    """Start a client with pipes to its stdin and stdout. Its stderr is appended to ``log``.

    It starts in ``folder``, or in the current one. No file that it writes may be longer than ``file_bytes``, and no
    line on stdout longer than ``line_bytes``. It runs in a PID namespace if the kernel allows one and ``is_namespaced``
    is True. Raises EnvironmentProblem if the program does not exist or a file cannot be written.
    """
    if shutil.which(_found_from(folder, argv[0]), path=env.get("PATH", os.defpath)) is None:
        raise EnvironmentProblem(
            "program-missing", "{program} cannot be started: no such program", program=argv[0]
        )
    mark = processes.new_mark()
    asked = {
        "argv": list(argv),
        "env": {**env, processes.OWNER: mark},
        "folder": folder,
        "file_bytes": file_bytes,
        "namespace": is_namespaced,
        "oom_score": OOM_SCORE,
        "parent": os.getpid(),
    }
    # Passed in memory, because any user can read a command line.
    fd = os.memfd_create("kafka-trial-client")
    try:
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(json.dumps(asked).encode())
        child = await processes.spawn(
            [sys.executable, "-I", "-S", keeper.__file__, str(fd)],
            env={},
            stdin=PIPE,
            stdout=PIPE,
            stderr=log,
            line_limit_bytes=line_bytes,
            pass_fds=(fd,),
            is_marked=False,
        )
    finally:
        os.close(fd)
    child.mark, child.is_keeper = mark, True
    return child


def _found_from(folder: str | None, program: str) -> str:
    """Return where a program is looked for: a path is relative to the folder in which the program starts."""
    return f"{folder}/{program}" if folder and "/" in program and not program.startswith("/") else program
