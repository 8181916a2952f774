"""What Go clients share: how they are installed here, and ``verifiable``, their side of the contract in Go."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from harness.model.errors import UsageError
from harness.plugins.client import Launch
from harness.provision.go_programs import LOCK, GoProgram, built, published, write_lock
from harness.provision.locks import lock_of
from harness.provision.versions import plain_version

VERIFIABLE = Path(__file__).parent / "verifiable"

#: Go would choose the newest patch of 1.18 by itself.
_WHOLE = re.compile(r"\d+\.\d+\.\d+(-(alpha|beta|rc)[.\d]*)?")


@dataclass(frozen=True)
class GoClient:
    """A client kind in Go; its program is the ``.go`` files in ``folder``.

    ``modules`` are the paths that its module has had, each with the first version under it, oldest first. ``since``
    are the versions that brought something which the program makes use of: where it has ``"1.21"``, files with the
    build tag ``since_1_21`` are part of the program from that version on.
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

    def install(self, version: str) -> Launch:
        """The program, built with that version of the client; see :class:`harness.plugins.client.ClientKind`."""
        return Launch(argv=(str(built(self.program(version))),), env={})

    @property
    def locks(self) -> Path:
        """Where its committed locks are."""
        return self.folder / "locks"

    def lock(self, version: str, folder: Path) -> None:
        """Write the lock of a version into a folder."""
        write_lock(self.program(version), folder)

    def published(self) -> list[str]:
        """Every version that is listed; see :class:`harness.plugins.client.ClientKind`."""
        return published(*(module for module, _ in self.modules))

    def program(self, version: str) -> GoProgram:
        """What is built for a version. UsageError for what is none."""
        if not _WHOLE.fullmatch(plain_version(self.name, version, self.default_version)):
            raise UsageError(
                f"{version!r} is not a version of {self.name}; an example is {self.default_version}"
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
