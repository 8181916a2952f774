"""Kafka's own jars: resolved by Ivy, and checked against committed sums before every use.

What Kafka's modules do not ask for is a logging binding (the distribution adds it), without which a broker says
nothing; ``VERSIONS`` names it.
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
        """For ``java -cp``, in a fixed order."""
        return jars.classpath(self.libs)


def kafka_jars(version: str) -> KafkaDist:
    """The jars of a version in ``VERSIONS``, fetched (45 MB) where they are missing, and checked.

    UsageError: an unknown version. EnvironmentProblem: no Java, not fetched, or a jar that is not the committed one.
    """
    if version not in VERSIONS:
        raise unknown("Kafka version", version, VERSIONS)
    if not is_finished(libs_path(version)):
        log.info("fetching Kafka %s (45 MB)", version)
    what, sums = f"Kafka {version}", read_sums(version)
    return KafkaDist(version, jars.pinned(what, VERSIONS[version], KIND, version, sums))


def libs_path(version: str) -> Path:
    """Where the jars of a version are, or will be."""
    return installations() / KIND / version


def check(version: str, libs: Path) -> None:
    """EnvironmentProblem unless the folder holds exactly the jars of the committed list, byte for byte."""
    jars.check(f"Kafka {version}", libs, read_sums(version))


def read_sums(version: str) -> dict[str, str]:
    """The committed list: jar name to SHA-256."""
    return jars.read_sums(f"kafka-{version}")
