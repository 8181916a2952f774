"""Client kinds whose client is a package of PyPI: any published version, in an environment of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.ports import Launch
from harness.provision import pypi
from harness.provision.python_env import python_env
from harness.provision.versions import plain_version

LIBRARY = Path(__file__).parent


def _alone(_version: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class PyPIClient:
    """A :class:`harness.ports.ClientKind`, named as its package is; ``program`` speaks the contract for it.

    ``beside`` says what else is installed with a version, as its users do: codecs, mostly.
    """

    name: str
    summary: str
    language: str
    default_version: str
    versions: tuple[str, ...]
    program: Path
    beside: Callable[[str], tuple[str, ...]] = _alone

    def install(self, version: str) -> Launch:
        """The program, in a cached environment that holds that version."""
        plain_version(self.name, version, self.default_version)
        python = python_env(f"{self.name}=={version}", *self.beside(version))
        # No user site, and nobody's PYTHONPATH but the contract's library.
        return Launch(argv=(str(python), "-s", str(self.program)), env={"PYTHONPATH": str(LIBRARY)})

    def published(self) -> list[str]:
        """Every release that PyPI lists for this Python, oldest first."""
        return pypi.published(self.name)
