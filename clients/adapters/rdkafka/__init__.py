"""rdkafka, the Rust crate that wraps librdkafka: any version since 0.26, built into a program of its own.

Each stands on the librdkafka that it was published with. All codecs are built in; TLS and SASL are not.
"""

from __future__ import annotations

from pathlib import Path

from harness.ports import Launch
from harness.provision import cargo_programs
from harness.provision.cargo_programs import CargoProgram, built
from harness.provision.versions import plain_version


class Rdkafka:
    """The client kind ``rdkafka``; its program is the package beside this file."""

    name = "rdkafka"
    summary = "rdkafka for Rust, on librdkafka"
    language = "rust/c"
    default_version = "0.39.0"
    versions = ("0.26.0", "0.29.0", "0.36.2", "0.39.0")

    def install(self, version: str) -> Launch:
        """The program built with that version, in the cache; see :class:`harness.ports.ClientKind`."""
        program = CargoProgram(
            crate="rdkafka",
            version=plain_version(self.name, version, self.default_version),
            root=Path(__file__).parent.parent,
            package="rdkafka",
            libraries=("rust_lib/verifiable",),
            bundle="rdkafka-sys",
        )
        return Launch(argv=(str(built(program)),), env={})

    def published(self) -> list[str]:
        """Every version that crates.io lists, oldest first."""
        return cargo_programs.published("rdkafka")


CLIENT = Rdkafka()
