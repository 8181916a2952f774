"""Kafka's own jars: resolved by Ivy, and compared with committed checksums before every use.

Kafka's modules do not depend on a logging binding (the distribution adds it), without which a broker logs nothing.
``VERSIONS`` lists it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import unknown
from harness.provision import jars
from harness.provision.caches import installations, is_finished
from harness.provision.jars import Module

KIND = "kafka"
log = logging.getLogger(__name__)

VERSIONS: dict[str, tuple[Module, ...]] = {
    "4.3.1": (
        ("org.apache.kafka", "kafka_2.13", "4.3.1"),
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
    ),
    "3.9.2": (
        ("org.apache.kafka", "kafka_2.13", "3.9.2"),
        ("org.slf4j", "slf4j-reload4j", "1.7.36"),
        ("ch.qos.reload4j", "reload4j", "1.2.25"),
    ),
}


@dataclass(frozen=True)
class KafkaDist:
    """One Kafka version on disk: a folder of jars (``kafka-clients`` among them)."""

    version: str
    libs: Path

    @property
    def classpath(self) -> str:
        """The jars for ``java -cp``, in a fixed order."""
        return jars.classpath(self.libs)


def kafka_jars(version: str) -> KafkaDist:
    """Return the jars of a version in ``VERSIONS``, fetched (45 MB) if missing, and checked.

    Raises UsageError for an unknown version, and EnvironmentProblem without Java, if the download failed, or if a jar
    differs from the committed one.
    """
    if version not in VERSIONS:
        raise unknown("Kafka version", version, VERSIONS)
    if not is_finished(libs_path(version)):
        log.info("fetching Kafka %s (45 MB)", version)
    what, sums = f"Kafka {version}", read_sums(version)
    return KafkaDist(version, jars.pinned(what, VERSIONS[version], KIND, version, sums))


def libs_path(version: str) -> Path:
    """Return the folder of a version's jars, existing or not."""
    return installations() / KIND / version


def check(version: str, libs: Path) -> None:
    """Raise EnvironmentProblem unless the folder contains exactly the jars of the committed list, byte for byte."""
    jars.check(f"Kafka {version}", libs, read_sums(version))


def read_sums(version: str) -> dict[str, str]:
    """Return the committed list, as jar name to SHA-256."""
    return jars.read_sums(f"kafka-{version}")
