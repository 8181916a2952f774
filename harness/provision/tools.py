"""Run the package clients: no output when they succeed, and one sentence with their own words when they fail."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import EnvironmentProblem
from harness.provision.environment import tool_env
from harness.system.processes import owner_env

#: A tool applies the settings of its working folder's project, and of all parent folders. The root has none.
NOBODYS = Path("/")


@dataclass(frozen=True)
class Ended:
    """The exit code of a program, and its output (standard output, then standard error)."""

    returncode: int
    output: str


def attempt(
    argv: Iterable[str | Path],
    *,
    tool: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path = NOBODYS,
    timeout_s: float,
) -> Ended:
    """Run a program to its end, in the environment of ``tool`` with ``env`` added.

    Raises EnvironmentProblem if it cannot be started or takes too long.
    """
    words = [str(word) for word in argv]
    try:
        ended = subprocess.run(
            words,
            env={**tool_env(tool), **(env or {}), **owner_env()},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise EnvironmentProblem(
            "program-not-started",
            "{program} cannot be started: {why}",
            program=words[0],
            why=error.strerror or error,
        ) from error
    except subprocess.TimeoutExpired as error:
        raise EnvironmentProblem(
            "program-timeout",
            "{program} has not ended after {timeout_s:.0f} s",
            program=Path(words[0]).name,
            timeout_s=timeout_s,
        ) from error
    return Ended(ended.returncode, ended.stdout + ended.stderr)


def excerpt(output: str, *wanted: str) -> str:
    """Return the most informative line of a program's output: the first with a wanted word, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line for word in wanted)]
    return (telling or lines[-1:] or ["it said nothing"])[0]
