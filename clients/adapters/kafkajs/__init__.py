"""kafkajs for Node: any published version, with the one codec plug-in that needs no compiler."""

from __future__ import annotations

from pathlib import Path

from clients.known_settings import NODE, AdapterSettings
from harness.plugins.client import Launch
from harness.provision import npm_packages
from harness.provision.locks import lock_of
from harness.provision.node import node_runtime
from harness.provision.npm_packages import LOCK, exact_version, node_program, write_lock

HERE = Path(__file__).parent
MODULES = ("main", "settings", "transactions", "consumer", "consumer_settings")
SOURCES = (*(HERE / f"{name}.mjs" for name in MODULES), HERE.parent / "node_lib" / "verifiable")
#: The minimum of the contract library. kafkajs itself supports older versions.
OLDEST_NODE = (20, 0, 0)
SNAPPY = "kafkajs-snappy@1.1.0"


class KafkaJs(AdapterSettings):
    """The client kind ``kafkajs``. Its program is ``main.mjs`` in this folder."""

    name = "kafkajs"
    summary = "kafkajs for Node, in JavaScript"
    language = "javascript"
    default_version = "2.2.4"
    locks = HERE / "locks"
    reserved = NODE
    versions = ("1.15.0", "1.16.0", "2.0.2", "2.2.4")

    def install(self, version: str) -> Launch:
        """Return the program, in a cached folder with that version. See :class:`harness.plugins.client.ClientKind`."""
        runtime, packages = node_runtime(OLDEST_NODE), self._packages(version)
        named, lock = f"{self.name}@{version}", lock_of(self.locks, version, *LOCK)
        folder = node_program(runtime, packages, SOURCES, name=named, lock=lock)
        # With NODE_ENV=test kafkajs uses shorter retry delays. NODE_OPTIONS of the user must not have an effect.
        env = {"NODE_ENV": "production", "NODE_OPTIONS": "", "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
        return Launch(argv=(str(runtime.path), str(folder / "main.mjs")), env=env)

    def lock(self, version: str, folder: Path) -> None:
        """Write the lock of a version into a folder."""
        write_lock(node_runtime(OLDEST_NODE), self._packages(version), folder)

    def published(self) -> list[str]:
        """Return every version that npm's registry lists, oldest first."""
        return npm_packages.published(node_runtime(OLDEST_NODE), "kafkajs")

    def _packages(self, version: str) -> tuple[str, ...]:
        exact = exact_version(self.name, version, self.default_version)
        return (f"kafkajs@{exact}", SNAPPY)


CLIENT = KafkaJs()
