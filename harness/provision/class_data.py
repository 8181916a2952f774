"""The place of a class data archive (JEP 350): the classes of a program, already parsed and verified, for its JVM.

With it a node of Kafka needs 2.2 core-seconds to start, without it 3.6 (`python -m benchmarks.cluster`), and the JVM of
Spark a third less. The first JVM of a program leaves the archive in the cache when it ends in an orderly way. An
archive is valid for one JVM, its options and its jars, byte for byte, and its name identifies them. It is optional: a
JVM that cannot use it says so in its log and reads the jars.
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


def place_of(program: str, java: tuple[str, ...]) -> Path:
    """Return the path of a program's archive, existing or not. ``java``: the command, its options and its classpath.

    ``program`` is its name and version, for people who look into the cache.
    """
    launcher = Path(java[0]).resolve()
    told = "\n".join([str(launcher), _stamp(launcher), *java[1:], *map(_stamp, _jars(java))])
    return cache_path() / "class-data" / f"{program}-{hashlib.sha256(told.encode()).hexdigest()[:16]}.jsa"


def using(archive: Path) -> str:
    """Return the option of a JVM that uses an archive."""
    return f"-XX:SharedArchiveFile={archive}"


def leaving(archive: Path) -> str:
    """Return the option of a JVM that writes an archive when it ends in an orderly way."""
    return f"-XX:ArchiveClassesAtExit={archive}"


def keep(made: Path, place: Path) -> bool:
    """Move an archive to its place, whole or not at all. Return False, with a warning, if that is not possible."""
    try:
        write_whole(place, made.read_bytes())
    except (OSError, EnvironmentProblem) as error:
        not_made(error)
        return False
    return True


def not_made(why: object) -> None:
    """Warn that a program will start without an archive."""
    log.warning("JVMs start more slowly: no class data archive was made: %s", why)


def _jars(java: tuple[str, ...]) -> list[Path]:
    return [Path(jar) for jar in java[-1].split(os.pathsep)]


def _stamp(file: Path) -> str:
    """Return what a JVM compares: it rejects an archive if a jar's size or time has changed."""
    found = file.stat()
    return f"{file} {found.st_size} {found.st_mtime_ns}"
