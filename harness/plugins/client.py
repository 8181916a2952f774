"""The interface of a client kind: how to install and start one of its versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from harness.model.spec import ClientRef


@dataclass(frozen=True)
class Launch:
    """How to start an adapter: its command line, and variables to add to the harness's environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


class ClientKind(Protocol):
    """Entry-point group ``kafka_trial.clients``: a client that can be put on trial at some version.

    ``versions`` are the tested versions, oldest first, and include ``default_version``. Other versions may work too.
    """

    name: str
    summary: str
    language: str
    default_version: str
    versions: tuple[str, ...]

    def install(self, version: str) -> Launch:
        """Install that version and return how to start it. Cached; safe to call concurrently. Blocking.

        Raises UsageError for a version that does not exist and EnvironmentProblem for a missing toolchain.
        """

    def published(self) -> list[str]:
        """Return every version that its registry lists, oldest first. Blocking.

        Raises EnvironmentProblem if the registry cannot be reached.
        """


@dataclass(frozen=True)
class InstalledClient:
    """A client that is ready to run."""

    ref: ClientRef
    launch: Launch
