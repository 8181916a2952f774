"""rdkafka, the Rust crate that wraps librdkafka: any version since 0.26, built into a separate program.

Each version uses the librdkafka with which it was published. All codecs are built in, but not TLS and SASL.
"""

from __future__ import annotations

from pathlib import Path

from clients.known_settings import LIBRDKAFKA, AdapterSettings
from harness.plugins.client import Launch
from harness.provision import cargo_programs
from harness.provision.cargo_programs import LOCK, CargoProgram, built, write_lock
from harness.provision.locks import lock_of
from harness.provision.versions import plain_version

HERE = Path(__file__).parent


class Rdkafka(AdapterSettings):
    """The client kind ``rdkafka``. Its program is the package in this folder."""

    name = "rdkafka"
    summary = "rdkafka for Rust, on librdkafka"
    language = "rust/c"
    default_version = "0.39.0"
    locks = HERE / "locks"
    reserved = LIBRDKAFKA
    versions = ("0.26.0", "0.29.0", "0.36.2", "0.39.0")

    def install(self, version: str) -> Launch:
        """Return the program, built with that version, in the cache. See :class:`harness.plugins.client.ClientKind`."""
        return Launch(argv=(str(built(self._program(version))),), env={})

    def lock(self, version: str, folder: Path) -> None:
        """Write the lock of a version into a folder."""
        write_lock(self._program(version), folder)

    def published(self) -> list[str]:
        """Return every version that cargo's registry lists, oldest first."""
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
