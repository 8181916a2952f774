"""A Java program that answers what Kafka's own classes say about settings, and which metrics its clients have.

Its main class is ``kafkaconfig.KafkaConfig``, and it is compiled with the sources, jars and checksums of the client
``java``. Each line on stdin is one question, and each line on stdout its answer, both in JSON:

* ``{"role": "producer"}``: ``{"keys": [...]}``, the names of all settings.
* ``{"role": "producer", "settings": {...}, "key": "linger.ms"}``: ``{"value": 5}``, the parsed value of ``key``, or
  ``{"refused": "..."}`` with the exception.
* ``{"role": "producer", "settings": {...}}``: ``{"metrics": ["GROUP NAME", ...]}``, those of a new client.

A role is ``producer`` or ``consumer``. Values are typed as in JSON. A number is an Integer if it fits, or else a Long.
"""

from __future__ import annotations

from pathlib import Path

from clients.adapters import java
from harness.provision.java_programs import java_program
from harness.provision.locks import lock_of

SOURCES = Path(__file__).parent
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"  # Kafka logs every configuration


def argv(version: str = java.CLIENT.default_version) -> tuple[str, ...]:
    """Return the command that starts the program, compiled for one version of kafka-clients.

    Raise the errors of ``java_program``.
    """
    modules = ((java.ORGANISATION, java.MODULE, version), *java.COMPANIONS)
    lock = lock_of(java.CLIENT.locks, version, java.LOCK)
    program = java_program(modules, (SOURCES,), name=f"java-config@{version}", lock=lock)
    return (str(program.java), *java.JVM_OPTIONS, QUIET, "-cp", program.classpath, "kafkaconfig.KafkaConfig")
