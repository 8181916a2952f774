"""The place of a class data archive (JEP 350): the classes of a broker, already parsed and verified, for the JVM.

With it a node needs 2.2 core-seconds to start, without it 3.6 (`python -m benchmarks.cluster`). Before the first
cluster of a version, a broker is started and stopped in an orderly way, which leaves the archive in the cache. An
archive is valid for one JVM, its options and its jars, byte for byte, and its name identifies them. It is optional: a
JVM that cannot use it says so in the node's log and reads the jars.
"""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path

from harness.files import write_whole
from harness.model.errors import EnvironmentProblem
from harness.provision.caches import cache_path

log = logging.getLogger(__name__)


def place_of(version: str, java: tuple[str, ...]) -> Path:
    """Return the path of a Kafka's archive, existing or not. ``java`` is the command, its options and its classpath."""
    launcher = Path(java[0]).resolve()
    told = "\n".join([str(launcher), _stamp(launcher), *java[1:], *map(_stamp, _jars(java))])
    return cache_path() / "class-data" / f"{version}-{hashlib.sha256(told.encode()).hexdigest()[:16]}.jsa"


def using(java: tuple[str, ...], archive: Path) -> tuple[str, ...]:
    """Return the command that uses an archive."""
    return (java[0], f"-XX:SharedArchiveFile={archive}", *java[1:])


def leaving(java: tuple[str, ...], archive: Path) -> tuple[str, ...]:
    """Return the command of a JVM that writes an archive when it ends in an orderly way."""
    return (java[0], f"-XX:ArchiveClassesAtExit={archive}", *java[1:])


def keep(made: Path, place: Path) -> bool:
    """Move an archive to its place, whole or not at all. Return False, with a warning, if that is not possible."""
    try:
        write_whole(place, made.read_bytes())
    except (OSError, EnvironmentProblem) as error:
        log.warning("brokers start more slowly: no class data archive was made: %s", error)
        return False
    return True


def _jars(java: tuple[str, ...]) -> list[Path]:
    return [Path(jar) for jar in java[-1].split(os.pathsep)]


def _stamp(file: Path) -> str:
    """Return what a JVM compares: it rejects an archive if a jar's size or time has changed."""
    found = file.stat()
    return f"{file} {found.st_size} {found.st_mtime_ns}"
