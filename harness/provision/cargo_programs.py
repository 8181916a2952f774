"""Programs in Rust: built once from our sources and one version of a client's crate, and kept in the cache.

A program's manifest leaves the version of the crate open, and its committed ``Cargo.lock`` pins it. That file names no
registry: cargo knows its own, and the name is put in before a build. Where there is no lock, cargo makes one, and a
crate that bundles a C library is pinned with the oldest bundle that it asks for, which is the one that it was published
with: cargo would take the newest, and every version of the client would stand on the same library, another one next
year.

What is fetched, and what is compiled on the way (a third of a gigabyte), is removed.
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

from harness.model.errors import EnvironmentProblem, UsageError
from harness.provision.caches import installed
from harness.provision.cargo import Cargo, find_cargo
from harness.provision.tools import Ended, excerpt
from harness.provision.versions import in_order

log = logging.getLogger(__name__)

LOCK = "Cargo.lock"
#: What a committed lock says in the place of the registry's name.
_COMMITTED = 'source = "registry"'
#: What belongs to a package; what somebody's own build left beside it does not.
_SOURCES = ("Cargo.toml", "build.rs", "src/**/*.rs")
#: A package in which anything will do, so that cargo has to be told of every version.
_ANY = '[package]\nname = "any"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n{crate} = "*"\n'
#: Where cargo's own words say most: a connection that failed, a full disk, a compiler's complaint.
_CAUSES = ("spurious network error", "No space left", "error[E", "error: ")
_PREAMBLE = re.compile(r"(warning: spurious network error \([^)]*\)|error): ")


@dataclass(frozen=True)
class CargoProgram:
    """A program that stands for one version of a client's crate.

    Its ``package`` (called ``verifiable-CRATE``) and the packages of ours that it asks for, ``libraries``, are folders
    below ``root``. ``bundle`` is the crate with the C library that the client's stands on, if there is one.
    """

    crate: str
    version: str
    root: Path
    package: str
    libraries: tuple[str, ...]
    bundle: str | None = None
    lock: Path | None = None

    def files(self) -> dict[str, bytes]:
        """What is built, by its path from the root."""
        lock = {f"{self.package}/{LOCK}": self.lock.read_bytes()} if self.lock else {}
        return lock | {
            str(path.relative_to(self.root)): path.read_bytes()
            for name in (self.package, *self.libraries)
            for pattern in _SOURCES
            for path in sorted((self.root / name).glob(pattern))
        }


def built(program: CargoProgram) -> Path:
    """The program's binary, built (some minutes) where it is missing.

    UsageError: that version does not exist. EnvironmentProblem: no cargo, no compiler, or the build failed.
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
    """Have cargo resolve a program as it would today, into the lock file of a folder."""
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
    """Every version of a crate that cargo's registry lists (those that were yanked too), oldest first.

    No command of cargo prints them all. But to resolve a dependency cargo fetches what the registry lists of that
    crate, and keeps it in its home, one JSON document a version: so it is given a home of its own for this once, and
    a package that asks for any version. EnvironmentProblem: it cannot be asked, or keeps its news in another form.
    """
    cargo = find_cargo()
    with TemporaryDirectory() as empty:
        folder, home = Path(empty), Path(empty) / "home"
        (folder / "src").mkdir()
        (folder / "src" / "lib.rs").touch()
        (folder / "Cargo.toml").write_text(_ANY.format(crate=crate))
        ended = cargo.run(home, "generate-lockfile", "--manifest-path", folder / "Cargo.toml")
        if ended.returncode != 0:
            raise EnvironmentProblem(f"cargo could not list the versions of {crate}: {_cause(ended.output)}")
        kept = [path.read_bytes() for path in home.glob(f"registry/index/*/.cache/**/{crate}")]
    documents = [part for file in kept for part in file.split(b"\0") if part.startswith(b"{")]
    if not documents:
        raise EnvironmentProblem(
            f"this cargo keeps what it is told of {crate} in a form that is not known here"
        )
    return in_order(str(json.loads(document)["vers"]) for document in documents)


def _pin(cargo: Cargo, program: CargoProgram, work: Path) -> None:
    """Have cargo write the lock file with the program's version, and what was published with it."""
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
    """The oldest version that a crate's requirement of a dependency allows, from what ``cargo metadata`` prints."""
    [asking] = (package for package in metadata["packages"] if package["name"] == crate)
    [wanted] = (each["req"] for each in asking["dependencies"] if each["name"] == dependency)
    return str(wanted).lstrip("^=~> ")


def _source(cargo: Cargo, program: CargoProgram, work: Path) -> str:
    """What a lock of cargo's own says of a crate from its registry, whichever mirror the user's settings name.

    Cargo reads it off the program's manifest, without a network.
    """
    words = ("--manifest-path", work / program.package / "Cargo.toml", "--no-deps", "--offline", "--quiet")
    said = _done(program, cargo.run(work / "home", "metadata", *words, "--format-version", "1"))
    packages = json.JSONDecoder().raw_decode(said)[0]["packages"]
    asked_for = [each for package in packages for each in package["dependencies"]]
    [source] = {each["source"] for each in asked_for if each["name"] == program.crate}
    return f'source = "{source}"'


def _compile(cargo: Cargo, program: CargoProgram, work: Path) -> Path:
    """The program, built unoptimised, which is quick enough to say what a client does."""
    target = work / "target"
    words = ("--locked", "--manifest-path", work / program.package / "Cargo.toml", "--target-dir", target)
    # zlib is built along rather than taken from the machine, which may have it, or its headers, or neither
    _done(program, cargo.run(work / "home", "build", *words, env={"LIBZ_SYS_STATIC": "1"}))
    name = f"debug/verifiable-{program.crate}"
    # a user's settings may name the machine to build for, which is then a folder in between
    [binary] = [*target.glob(name), *target.glob(f"*/{name}")]
    return binary


def _done(program: CargoProgram, ended: Ended) -> str:
    """What cargo said. Raises what there is to say if it failed."""
    if ended.returncode == 0:
        return ended.output
    named = f"{program.crate} {program.version}"
    try:
        known = published(program.crate)
    except EnvironmentProblem:
        known = []
    if known and program.version not in known:
        raise UsageError(f"{named} does not exist; the newest {program.crate} is {known[-1]}")
    raise EnvironmentProblem(f"{named} could not be built: {_cause(ended.output)}")


def _cause(said: str) -> str:
    return _PREAMBLE.sub("", excerpt(said, *_CAUSES), count=1)
