"""Java programs without a JDK: their jars are fetched by Ivy, and their sources compiled by Eclipse's compiler.

The compiler is a jar, pinned by its checksum. So are the jars of a program with a committed list. The cache contains a
program once for each set of jars and sources, under a name with the digest of both.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.model.errors import EnvironmentProblem
from harness.provision import jars
from harness.provision.caches import installed
from harness.provision.jars import Module
from harness.provision.java import OLDEST, find_java
from harness.provision.tools import attempt, excerpt

ECJ = ("org.eclipse.jdt", "ecj", "3.46.0")
LIBS, CLASSES = "libs", "classes"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JavaProgram:
    """A compiled program: the launcher that starts it, and all of its classes for ``-cp``."""

    java: Path
    classpath: str


def java_program(
    modules: Sequence[Module], sources: Sequence[Path], *, name: str | None = None, lock: Path | None = None
) -> JavaProgram:
    """Return the program in the folders ``sources``, compiled against ``modules``. ``lock`` lists their checksums.

    Its name is ``name``, or that of the first module. Raises UsageError if the first module has no such revision, and
    EnvironmentProblem without Java or if the program cannot be made.
    """
    java = find_java().path
    _, client, revision = modules[0]
    what = f"{client} {revision}"
    files = [file for folder in sources for file in sorted(folder.rglob("*.java"))]
    made_of = [*files, lock] if lock else files

    def build(folder: Path) -> None:
        log.info("installing %s", what)
        libs, classes = folder / LIBS, folder / CLASSES
        libs.mkdir()
        if lock:
            jars.fetch_pinned(what, modules, libs, jars.sums_in(lock))
        else:
            jars.fetch(what, modules, libs)
        compile_into(classes, files, jars.classpath(libs), what=f"the program for {what}")

    named = f"{name or f'{client}@{revision}'}-{_digest(modules, made_of)}"
    folder = installed("java", named, build, is_locked=lock is not None)
    return JavaProgram(java, f"{folder / CLASSES}:{jars.classpath(folder / LIBS)}")


def write_lock(modules: Sequence[Module], lock: Path) -> None:
    """Fetch the jars of ``modules`` and write their checksums into ``lock``."""
    with TemporaryDirectory() as folder:
        jars.fetch(modules[0][1], modules, Path(folder))
        jars.write_sums(Path(folder), lock)


def compile_into(classes: Path, files: Sequence[Path], classpath: str, *, what: str) -> None:
    """Compile for the oldest supported Java. Raises EnvironmentProblem, with the reason, if that fails."""
    _, _, revision = ECJ
    sums = jars.read_sums(f"ecj-{revision}")
    compiler = jars.pinned(f"ecj {revision}", [ECJ], "ecj", revision, sums) / f"ecj-{revision}.jar"
    options = (f"-{OLDEST}", "-encoding", "UTF-8", "-nowarn", "-cp", classpath, "-d", classes)
    argv: list[str | Path] = [find_java().path, *jars.BRIEFLY, "-jar", compiler, *options, *files]
    ended = attempt(argv, tool="java", timeout_s=300)
    if ended.returncode != 0:
        raise EnvironmentProblem(
            "build-failed",
            "{what} does not compile: {cause}",
            what=what,
            cause=_first_error(ended.output),
        )


def _digest(modules: Sequence[Module], files: Sequence[Path]) -> str:
    parts = [repr((ECJ, OLDEST, list(modules))), *(file.read_text() for file in files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _first_error(said: str) -> str:
    """Return the first error's message. It ends its block, after the position and the quoted line."""
    _, _, errors = said.partition("ERROR in ")
    first = errors.partition("\n-----")[0].splitlines()
    return first[-1].strip() if first else excerpt(said, "rror")
