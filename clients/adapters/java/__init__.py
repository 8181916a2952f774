"""Apache Kafka's own producer, kafka-clients: any published version, compiled with the program in this folder.

It was tried from version 2.1 on. Older versions do not work with brokers since 4.0 (but do with older brokers).
"""

from __future__ import annotations

from pathlib import Path

from clients.known_settings import JAVA, AdapterSettings
from harness.plugins.client import Launch
from harness.provision.jars import Module, published
from harness.provision.java_programs import java_program, write_lock
from harness.provision.locks import lock_of
from harness.provision.versions import plain_version

HERE = Path(__file__).parent
SOURCES = (HERE.parent / "java_lib", HERE)

LOCK = "jars.sha256"
ORGANISATION, MODULE = "org.apache.kafka", "kafka-clients"
#: JSON for the contract, from the project that Kafka's own tools use, and a logging binding that writes to stderr.
COMPANIONS = (
    ("com.fasterxml.jackson.core", "jackson-core", "2.21.2"),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
)

#: Options for a small process that starts fast: a trial is short, and a machine runs several at once.
JVM_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xmx256m",
    "-Xlog:disable",  # otherwise the JVM's own log goes to stdout
    "-Xlog:all=warning:stderr",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)


class KafkaClients(AdapterSettings):
    """The client kind ``java``. Its program is in ``kafkaclients`` in this folder."""

    name = "java"
    summary = "Apache Kafka's own client for Java, kafka-clients"
    language = "java"
    default_version = "4.3.1"
    locks = HERE / "locks"
    reserved = JAVA
    versions = ("2.1.1", "2.8.2", "3.4.1", "3.9.2", "4.3.1")

    def install(self, version: str) -> Launch:
        """Return the program, compiled against that version. See :class:`harness.plugins.client.ClientKind`."""
        modules, named = self._modules(version), f"{self.name}@{version}"
        program = java_program(modules, SOURCES, name=named, lock=lock_of(self.locks, version, LOCK))
        argv = (str(program.java), *JVM_OPTIONS, "-cp", program.classpath, "kafkaclients.KafkaClients")
        return Launch(argv=argv, env={})

    def lock(self, version: str, folder: Path) -> None:
        """Write the lock of a version into a folder."""
        write_lock(self._modules(version), folder / LOCK)

    def published(self) -> list[str]:
        """Return every version that Maven Central lists. See :class:`harness.plugins.client.ClientKind`."""
        return published(ORGANISATION, MODULE)

    def _modules(self, version: str) -> tuple[Module, ...]:
        plain = plain_version(self.name, version, self.default_version)
        return ((ORGANISATION, MODULE, plain), *COMPANIONS)


CLIENT = KafkaClients()
