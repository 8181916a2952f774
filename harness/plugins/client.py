"""The interface of a client kind: how to install and start one of its versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from harness.model.spec import ClientRef
from harness.text.globs import matches


@dataclass(frozen=True)
class Launch:
    """How to start an adapter: its command line, variables to add to the harness's environment, and its folder.

    Without a ``folder`` it starts in the current one.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: str | None = None


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
class Capabilities:
    """What a version of a client was seen to do with the settings of the common profile, in the Java names.

    ``applied``: name -> the client's own names for it. ``not_set``: name -> why the client cannot be given it.
    ``takes_own`` is True if it takes settings under its own names. ``codecs`` are those with which it can compress.
    These are the producer's settings. ``consumer`` is about the consumer's, or None if nothing is known of it.
    """

    applied: Mapping[str, tuple[str, ...]]
    not_set: Mapping[str, str]
    takes_own: bool
    codecs: tuple[str, ...] = ()
    consumer: Capabilities | None = None

    def of_role(self, role: str) -> Capabilities | None:
        """Return what is known of the client in a workload's role."""
        return self.consumer if role == "consumer" else self


@runtime_checkable
class KnownSettings(Protocol):
    """What a client kind may also have: the settings that are known before it runs.

    ``reserved`` has patterns of the client's own settings that a user cannot give, each with the reason.
    """

    reserved: Mapping[str, str]

    def capabilities(self, version: str) -> Capabilities | None:
        """Return what is known of a version, or None if it was not tried."""


def reserved(kind: ClientKind, key: str) -> str | None:
    """Return why the user cannot give this setting of a client's own, or None if nothing is known against it."""
    if not isinstance(kind, KnownSettings):
        return None
    for pattern, why in kind.reserved.items():
        if matches(key, pattern):
            return why
    seen = kind.capabilities(kind.default_version)
    for known in (seen, seen.consumer) if seen else ():
        for java, names in known.applied.items() if known else ():
            if key in names:
                return f"it is the client's name for {java}; use -X {java}=VALUE"
    return None


@dataclass(frozen=True)
class InstalledClient:
    """A client that is ready to run."""

    ref: ClientRef
    launch: Launch
