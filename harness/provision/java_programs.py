"""Java programs for a machine that has a runtime and no JDK: their jars by Ivy, their sources by Eclipse's compiler.

The compiler is a jar itself, pinned by its sum. A program stands in the cache once for each set of jars and sources,
under a name that holds the digest of all that it is made of.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import EnvironmentProblem
from harness.provision import jars
from harness.provision.caches import cache_dir, cache_path, installed
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


def java_program(modules: Sequence[Module], sources: Sequence[Path]) -> JavaProgram:
    """The program in the folders ``sources``, compiled against ``modules``; it is named after the first of them.

    UsageError: the first module is not published at that revision. EnvironmentProblem: no Java, or no program.
    """
    java = find_java().path
    _, name, revision = modules[0]
    files = [file for folder in sources for file in sorted(folder.rglob("*.java"))]
    place = cache_path() / "java" / f"{name}-{revision}-{_digest(modules, files)}"

    def build(folder: Path) -> None:
        log.info("installing %s %s", name, revision)
        libs, classes = folder / LIBS, folder / CLASSES
        libs.mkdir()
        jars.fetch(f"{name} {revision}", modules, libs)
        compile_into(classes, files, jars.classpath(libs), what=f"the program for {name} {revision}")

    cache_dir()
    folder = installed(place, build)
    return JavaProgram(java, f"{folder / CLASSES}:{jars.classpath(folder / LIBS)}")


def compile_into(classes: Path, files: Sequence[Path], classpath: str, *, what: str) -> None:
    """Compile for the oldest Java that we run on. EnvironmentProblem: ``what`` does not compile, and why."""
    _, _, revision = ECJ
    place, sums = cache_path() / "ecj" / revision, jars.read_sums(f"ecj-{revision}")
    compiler = jars.pinned(f"ecj {revision}", [ECJ], place, sums) / f"ecj-{revision}.jar"
    options = (f"-{OLDEST}", "-encoding", "UTF-8", "-nowarn", "-cp", classpath, "-d", classes)
    ended = attempt([find_java().path, *jars.BRIEFLY, "-jar", compiler, *options, *files], timeout_s=300)
    if ended.returncode != 0:
        raise EnvironmentProblem(f"{what} does not compile: {_first_error(ended.output)}")


def _digest(modules: Sequence[Module], files: Sequence[Path]) -> str:
    parts = [repr((ECJ, OLDEST, list(modules))), *(file.read_text() for file in files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _first_error(said: str) -> str:
    """The first error's message, which ends its block: the compiler names the place and quotes the line before it."""
    _, _, errors = said.partition("ERROR in ")
    first = errors.partition("\n-----")[0].splitlines()
    return first[-1].strip() if first else excerpt(said, "rror")
