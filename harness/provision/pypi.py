"""The versions of a package on PyPI, queried with pip in its own environment, since uv cannot list them."""

from __future__ import annotations

import json
from pathlib import Path

from harness.model.errors import EnvironmentProblem
from harness.provision.python_env import pinned_env
from harness.provision.tools import attempt, excerpt
from harness.provision.versions import in_order

PIP = Path(__file__).with_name("pip.txt")
_UNREACHABLE = "connection broken by"


def published(package: str) -> list[str]:
    """Return every release that this Python could install, oldest first.

    Raises EnvironmentProblem if PyPI cannot be queried or has no such package.
    """
    ask = ["-m", "pip", "index", "versions", "--json", "--retries", "1", package]
    ended = attempt([pinned_env("pip", PIP), *ask], tool="pip", timeout_s=120)
    if ended.returncode != 0:
        said = excerpt(ended.output, "ERROR").removeprefix("ERROR: ")
        why = "it cannot be reached" if _UNREACHABLE in ended.output else said
        raise EnvironmentProblem(
            "versions-not-listed",
            "the versions of {package} on PyPI could not be listed: {why}",
            package=package,
            why=why,
        )
    told, _ = json.JSONDecoder().raw_decode(ended.output)  # warnings may follow it
    return in_order(told["versions"])
