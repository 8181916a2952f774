"""Where a JVM finds the classes of a broker, parsed and verified already: a class data archive (JEP 350).

With it a node needs 2.2 core-seconds to start, without it 3.6 (`python -m benchmarks.cluster`). The first cluster of a
version is preceded by a broker that starts, ends in good order, and leaves the archive in the cache. An archive belongs
to one JVM, its options and its jars, byte for byte; its name says which. It is never needed: a JVM that cannot use it
says so in the node's log and reads the jars.
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
    """Where the archive of a Kafka is, or will be; ``java`` is the command, its options and its classpath."""
    launcher = Path(java[0]).resolve()
    told = "\n".join([str(launcher), _stamp(launcher), *java[1:], *map(_stamp, _jars(java))])
    return cache_path() / "class-data" / f"{version}-{hashlib.sha256(told.encode()).hexdigest()[:16]}.jsa"


def using(java: tuple[str, ...], archive: Path) -> tuple[str, ...]:
    """The command with an archive."""
    return (java[0], f"-XX:SharedArchiveFile={archive}", *java[1:])


def leaving(java: tuple[str, ...], archive: Path) -> tuple[str, ...]:
    """The command of a JVM that writes an archive when it ends in good order."""
    return (java[0], f"-XX:ArchiveClassesAtExit={archive}", *java[1:])


def keep(made: Path, place: Path) -> bool:
    """Put an archive in its place, whole or not at all; False, with a warning, if there is none or no room for it."""
    try:
        write_whole(place, made.read_bytes())
    except (OSError, EnvironmentProblem) as error:
        log.warning("brokers start more slowly: no class data archive was made: %s", error)
        return False
    return True


def _jars(java: tuple[str, ...]) -> list[Path]:
    return [Path(jar) for jar in java[-1].split(os.pathsep)]


def _stamp(file: Path) -> str:
    """What a JVM compares: it refuses an archive whose jars have another size or time."""
    found = file.stat()
    return f"{file} {found.st_size} {found.st_mtime_ns}"
