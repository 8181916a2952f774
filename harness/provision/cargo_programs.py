"""Programs in Rust: built once from the project's sources and one version of a client's crate, and cached.

A program's manifest leaves the version of the crate open, and its committed ``Cargo.lock`` pins it. That file contains
no registry: cargo knows its own, and the name is inserted before a build. If there is no lock, cargo creates one. A
crate that bundles a C library is then pinned with the oldest bundle that it accepts, the one it was published with.
Cargo would select the newest one, so that every version of the client would use the same library, and a different one
next year.

Downloads and intermediate files (a third of a gigabyte) are removed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.model.errors import EnvironmentProblem
from harness.provision.caches import installed
from harness.provision.cargo import Cargo, find_cargo
from harness.provision.tools import Ended, excerpt
from harness.provision.versions import in_order, unknown_version

log = logging.getLogger(__name__)

LOCK = "Cargo.lock"
#: What a committed lock contains in place of the registry's name.
_COMMITTED = 'source = "registry"'
#: The files of a package. Output of another build in the same folder is excluded.
_SOURCES = ("Cargo.toml", "build.rs", "src/**/*.rs")
#: A package that accepts any version of a crate, so that cargo has to list all of them.
_ANY = '[package]\nname = "any"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n{crate} = "*"\n'
#: The most informative of cargo's messages: a failed connection, a full disk, a compiler error.
_CAUSES = ("spurious network error", "No space left", "error[E", "error: ")
_PREAMBLE = re.compile(r"(warning: spurious network error \([^)]*\)|error): ")


@dataclass(frozen=True)
class CargoProgram:
    """A program for one version of a client's crate.

    Its ``package`` (named ``verifiable-CRATE``) and the project's own packages that it depends on, ``libraries``, are
    folders below ``root``. ``bundle`` is the crate with the C library that the client's crate uses, if there is one.
    """

    crate: str
    version: str
    root: Path
    package: str
    libraries: tuple[str, ...]
    bundle: str | None = None
    lock: Path | None = None

    def files(self) -> dict[str, bytes]:
        """Return the files of the build, by their path from the root."""
        lock = {f"{self.package}/{LOCK}": self.lock.read_bytes()} if self.lock else {}
        return lock | {
            str(path.relative_to(self.root)): path.read_bytes()
            for name in (self.package, *self.libraries)
            for pattern in _SOURCES
            for path in sorted((self.root / name).glob(pattern))
        }


def built(program: CargoProgram) -> Path:
    """Return the program's binary, after building it (some minutes) if it is missing.

    Raises UsageError if that version does not exist, and EnvironmentProblem without cargo or a compiler, or if the
    build failed.
    """
    files = program.files()
    cargo = find_cargo()
    digest = hashlib.sha256(cargo.builds_with.encode())
    for name, content in files.items():
        digest.update(f"{name} {len(content)} ".encode() + content)
    named, binary = f"{program.crate}@{program.version}", f"verifiable-{program.crate}"

    def build(folder: Path) -> None:
        log.info("building %s %s (some minutes)", program.crate, program.version)
        work = folder / "work"
        _write(files, work)
        if program.lock is None:
            _pin(cargo, program, work)
        else:
            lock = work / program.package / LOCK
            lock.write_text(lock.read_text().replace(_COMMITTED, _source(cargo, program, work)))
        _compile(cargo, program, work).rename(folder / binary)
        shutil.rmtree(work)

    is_locked = program.lock is not None
    return installed("rust", f"{named}-{digest.hexdigest()[:12]}", build, is_locked=is_locked) / binary


def write_lock(program: CargoProgram, lock: Path) -> None:
    """Resolve a program with cargo as of today, and write the lock file into a folder."""
    cargo = find_cargo()
    with TemporaryDirectory() as folder:
        work = Path(folder)
        _write(replace(program, lock=None).files(), work)
        _pin(cargo, program, work)
        made = (work / program.package / LOCK).read_text()
        (lock / LOCK).write_text(made.replace(_source(cargo, program, work), _COMMITTED))


def _write(files: Mapping[str, bytes], work: Path) -> None:
    for name, content in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(content)


def published(crate: str) -> list[str]:
    """Return every version of a crate in cargo's registry (including yanked ones), oldest first.

    No command of cargo prints all of them. But to resolve a dependency, cargo fetches the registry's list for that
    crate and keeps it in its home, one JSON document per version. It therefore runs once with a new home and a package
    that accepts any version. Raises EnvironmentProblem if the registry cannot be queried, or if the list has another
    format.
    """
    cargo = find_cargo()
    with TemporaryDirectory() as empty:
        folder, home = Path(empty), Path(empty) / "home"
        (folder / "src").mkdir()
        (folder / "src" / "lib.rs").touch()
        (folder / "Cargo.toml").write_text(_ANY.format(crate=crate))
        ended = cargo.run(home, "generate-lockfile", "--manifest-path", folder / "Cargo.toml")
        if ended.returncode != 0:
            raise EnvironmentProblem(
                "versions-not-listed",
                "cargo could not list the versions of {crate}: {cause}",
                crate=crate,
                cause=_cause(ended.output),
            )
        kept = [path.read_bytes() for path in home.glob(f"registry/index/*/.cache/**/{crate}")]
    documents = [part for file in kept for part in file.split(b"\0") if part.startswith(b"{")]
    if not documents:
        raise EnvironmentProblem(
            "versions-unreadable",
            "this cargo stores its list of the versions of {crate} in an unknown format",
            crate=crate,
        )
    return in_order(str(json.loads(document)["vers"]) for document in documents)


def _pin(cargo: Cargo, program: CargoProgram, work: Path) -> None:
    """Make cargo write the lock file with the program's version and the bundle it was published with."""
    home, manifest = work / "home", ("--manifest-path", work / program.package / "Cargo.toml")

    def pin(crate: str, version: str) -> None:
        _done(program, cargo.run(home, "update", *manifest, "--package", crate, "--precise", version))

    pin(program.crate, program.version)
    if program.bundle is None:
        return
    said = _done(program, cargo.run(home, "metadata", *manifest, "--format-version", "1", "--quiet"))
    pin(
        program.bundle,
        _oldest_asked_for(json.JSONDecoder().raw_decode(said)[0], program.crate, program.bundle),
    )


def _oldest_asked_for(metadata: dict[str, Any], crate: str, dependency: str) -> str:
    """Return the oldest version that a crate accepts of a dependency, from the output of ``cargo metadata``."""
    [asking] = (package for package in metadata["packages"] if package["name"] == crate)
    [wanted] = (each["req"] for each in asking["dependencies"] if each["name"] == dependency)
    return str(wanted).lstrip("^=~> ")


def _source(cargo: Cargo, program: CargoProgram, work: Path) -> str:
    """Return a lock file's entry for a crate from cargo's registry, regardless of the user's mirror.

    Cargo derives it from the program's manifest, without network access.
    """
    words = ("--manifest-path", work / program.package / "Cargo.toml", "--no-deps", "--offline", "--quiet")
    said = _done(program, cargo.run(work / "home", "metadata", *words, "--format-version", "1"))
    packages = json.JSONDecoder().raw_decode(said)[0]["packages"]
    asked_for = [each for package in packages for each in package["dependencies"]]
    [source] = {each["source"] for each in asked_for if each["name"] == program.crate}
    return f'source = "{source}"'


def _compile(cargo: Cargo, program: CargoProgram, work: Path) -> Path:
    """Build the program without optimisation, which is fast enough for its purpose."""
    target = work / "target"
    words = ("--locked", "--manifest-path", work / program.package / "Cargo.toml", "--target-dir", target)
    # zlib is built too: the machine may lack it, or only its headers
    _done(program, cargo.run(work / "home", "build", *words, env={"LIBZ_SYS_STATIC": "1"}))
    name = f"debug/verifiable-{program.crate}"
    # if the user's settings name a build target, there is one more folder level
    [binary] = [*target.glob(name), *target.glob(f"*/{name}")]
    return binary


def _done(program: CargoProgram, ended: Ended) -> str:
    """Return cargo's output, or raise an error with the reason if it failed."""
    if ended.returncode == 0:
        return ended.output
    named = f"{program.crate} {program.version}"
    try:
        known = published(program.crate)
    except EnvironmentProblem:
        known = []
    if known and program.version not in known:
        raise unknown_version(named, program.crate, known[-1])
    raise EnvironmentProblem(
        "build-failed", "{named} could not be built: {cause}", named=named, cause=_cause(ended.output)
    )


def _cause(said: str) -> str:
    return _PREAMBLE.sub("", excerpt(said, *_CAUSES), count=1)
