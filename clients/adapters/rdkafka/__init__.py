"""rdkafka, the Rust crate that wraps librdkafka: any version since 0.26, built into a program of its own.

Each stands on the librdkafka that it was published with. All codecs are built in; TLS and SASL are not.
"""

from __future__ import annotations

from pathlib import Path

from harness.plugins.client import Launch
from harness.provision import cargo_programs
from harness.provision.cargo_programs import LOCK, CargoProgram, built, write_lock
from harness.provision.locks import lock_of
from harness.provision.versions import plain_version

HERE = Path(__file__).parent


class Rdkafka:
    """The client kind ``rdkafka``; its program is the package beside this file."""

    name = "rdkafka"
    summary = "rdkafka for Rust, on librdkafka"
    language = "rust/c"
    default_version = "0.39.0"
    locks = HERE / "locks"
    versions = ("0.26.0", "0.29.0", "0.36.2", "0.39.0")

    def install(self, version: str) -> Launch:
        """The program built with that version, in the cache; see :class:`harness.plugins.client.ClientKind`."""
        return Launch(argv=(str(built(self._program(version))),), env={})

    def lock(self, version: str, folder: Path) -> None:
        """Write the lock of a version into a folder."""
        write_lock(self._program(version), folder)

    def published(self) -> list[str]:
        """Every version that cargo's registry lists, oldest first."""
        return cargo_programs.published("rdkafka")

    def _program(self, version: str) -> CargoProgram:
        return CargoProgram(
            crate="rdkafka",
            version=plain_version(self.name, version, self.default_version),
            root=HERE.parent,
            package="rdkafka",
            libraries=("rust_lib/verifiable",),
            bundle="rdkafka-sys",
            lock=lock_of(self.locks, version, LOCK),
        )


CLIENT = Rdkafka()
