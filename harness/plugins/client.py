"""What the harness needs of a client kind: how to install and start a version of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from harness.model.spec import ClientRef


@dataclass(frozen=True)
class Launch:
    """How to start an adapter: its command line, and environment on top of the harness's own."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


class ClientKind(Protocol):
    """Entry-point group ``kafka_trial.clients``: a client that can be put on trial at some version.

    ``versions`` are those that were tried, oldest first, ``default_version`` among them; others may do as well.
    """

    name: str
    summary: str
    language: str
    default_version: str
    versions: tuple[str, ...]

    def install(self, version: str) -> Launch:
        """Make that version runnable (once, cached, safe beside others) and say how. Blocking.

        Raises UsageError for a version that does not exist, EnvironmentProblem for a missing tool chain.
        """

    def published(self) -> list[str]:
        """Every version that its registry lists, oldest first. Blocking; EnvironmentProblem if it cannot be asked."""


@dataclass(frozen=True)
class InstalledClient:
    """A client that is ready to run."""

    ref: ClientRef
    launch: Launch
