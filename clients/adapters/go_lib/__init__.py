"""The parts that Go clients share: their installation, and ``verifiable``, the contract library in Go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

from clients.known_settings import GO, AdapterSettings
from harness.model.errors import UsageError
from harness.plugins.client import Launch
from harness.provision.go_programs import LOCK, GoProgram, built, published, write_lock
from harness.provision.locks import lock_of
from harness.provision.versions import plain_version

VERIFIABLE = Path(__file__).parent / "verifiable"

#: Go would resolve an incomplete version such as 1.18 to its newest patch.
_WHOLE = re.compile(r"\d+\.\d+\.\d+(-(alpha|beta|rc)[.\d]*)?")


@dataclass(frozen=True)
class GoClient(AdapterSettings):
    """A client kind in Go. Its program is the ``.go`` files in ``folder``.

    ``modules`` are the paths that its module has had, each with the first version under it, oldest first. ``since``
    lists the versions that added something that the program uses: with ``"1.21"``, files with the build tag
    ``since_1_21`` are part of the program from that version on.
    """

    name: str
    summary: str
    default_version: str
    versions: tuple[str, ...]
    folder: Path
    modules: tuple[tuple[str, str], ...]
    since: tuple[str, ...] = ()
    cgo: bool = False
    language: str = "go"
    reserved: Mapping[str, str] = field(default_factory=lambda: GO)

    def install(self, version: str) -> Launch:
        """Return the program, built with that version of the client. See :class:`harness.plugins.client.ClientKind`."""
        return Launch(argv=(str(built(self.program(version))),), env={})

    @property
    def locks(self) -> Path:
        """The folder of its committed locks."""
        return self.folder / "locks"

    def lock(self, version: str, folder: Path) -> None:
        """Write the lock of a version into a folder."""
        write_lock(self.program(version), folder)

    def published(self) -> list[str]:
        """Return every version that is listed. See :class:`harness.plugins.client.ClientKind`."""
        return published(*(module for module, _ in self.modules))

    def program(self, version: str) -> GoProgram:
        """Return the program to build for a version. Raise UsageError if it is not a version."""
        if not _WHOLE.fullmatch(plain_version(self.name, version, self.default_version)):
            raise UsageError(
                "client-version-format",
                "{version!r} is not a version of {client}; an example is {example}",
                version=version,
                client=self.name,
                example=self.default_version,
            )
        number = Version(version)
        paths = [module for module, first in self.modules if number >= Version(first)]
        return GoProgram(
            client=self.name,
            version=version,
            module=paths[-1] if paths else self.modules[0][0],
            modules=tuple(module for module, _ in self.modules),
            sources=self.folder,
            packages={"verifiable": VERIFIABLE},
            tags=tuple(
                f"since_{first.replace('.', '_')}" for first in self.since if number >= Version(first)
            ),
            cgo=self.cgo,
            lock=lock_of(self.locks, version, *LOCK),
        )
