"""Client kinds whose client is a PyPI package: any published version, each in a separate environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clients.known_settings import PYTHON, AdapterSettings
from harness.plugins.client import Launch
from harness.provision import pypi
from harness.provision.locks import lock_of
from harness.provision.python_env import python_env, write_lock
from harness.provision.versions import plain_version

LIBRARY = Path(__file__).parent
LOCK = "requirements.txt"


def _alone(_version: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class PyPIClient(AdapterSettings):
    """A :class:`harness.plugins.client.ClientKind` with the name of its package. ``program`` implements the contract.

    ``beside`` returns what else is installed with a version, as its users do: mostly codecs.
    """

    name: str
    summary: str
    language: str
    default_version: str
    versions: tuple[str, ...]
    program: Path
    beside: Callable[[str], tuple[str, ...]] = _alone
    reserved: Mapping[str, str] = field(default_factory=lambda: PYTHON)

    def install(self, version: str) -> Launch:
        """Return the program, in a cached environment with that version."""
        plain_version(self.name, version, self.default_version)
        python = python_env(*self._requirements(version), lock=lock_of(self.locks, version, LOCK))
        # No user site-packages, and only the contract's library in PYTHONPATH.
        return Launch(argv=(str(python), "-s", str(self.program)), env={"PYTHONPATH": str(LIBRARY)})

    @property
    def locks(self) -> Path:
        """The folder of its committed locks."""
        return self.program.parent / "locks"

    def lock(self, version: str, folder: Path) -> None:
        """Write the lock of a version into a folder."""
        write_lock(self._requirements(version), folder / LOCK)

    def published(self) -> list[str]:
        """Return every release that PyPI lists for this Python, oldest first."""
        return pypi.published(self.name)

    def _requirements(self, version: str) -> tuple[str, ...]:
        return (f"{self.name}=={version}", *self.beside(version))
