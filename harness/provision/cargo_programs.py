"""Programs in Rust: built once from our sources and one version of a client's crate, and kept in the cache.

A program's manifest leaves the version of the crate open, and cargo pins it in the lock file. A crate that bundles a
C library is pinned with the oldest bundle that it asks for, which is the one that it was published with: cargo would
take the newest, and every version of the client would stand on the same library, another one next year.

What is compiled on the way (a third of a gigabyte) is removed; what is fetched, cargo keeps in the user's own home.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.errors import EnvironmentProblem, UsageError
from harness.provision.caches import cache_dir, installed
from harness.provision.cargo import Cargo, cargo_home, find_cargo
from harness.provision.tools import Ended, excerpt
from harness.provision.versions import in_order

log = logging.getLogger(__name__)

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

    def files(self) -> dict[str, bytes]:
        """What is built, by its path from the root."""
        return {
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
    place = cache_dir() / "rust" / f"{program.crate}-{program.version}-{digest.hexdigest()[:12]}"

    def build(folder: Path) -> None:
        log.info("building %s %s (some minutes)", program.crate, program.version)
        work = folder / "work"
        for name, content in files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(content)
        _pin(cargo, program, work / program.package)
        _compile(cargo, program, work / program.package, folder)
        shutil.rmtree(work)

    return installed(place, build) / "bin" / f"verifiable-{program.crate}"


def published(crate: str) -> list[str]:
    """Every version of a crate that crates.io lists (those that were yanked too), oldest first.

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
        ended = cargo.run(folder, "generate-lockfile", *_users_settings(), env={"CARGO_HOME": str(home)})
        if ended.returncode != 0:
            raise EnvironmentProblem(f"cargo could not list the versions of {crate}: {_cause(ended.output)}")
        kept = [path.read_bytes() for path in home.glob(f"registry/index/*/.cache/**/{crate}")]
    documents = [part for file in kept for part in file.split(b"\0") if part.startswith(b"{")]
    if not documents:
        raise EnvironmentProblem(
            f"this cargo keeps what it is told of {crate} in a form that is not known here"
        )
    return in_order(str(json.loads(document)["vers"]) for document in documents)


def _users_settings() -> list[str | Path]:
    """The settings in the user's own home, among which may be where crates come from here."""
    settings = cargo_home() / "config.toml"
    return ["--config", settings] if settings.exists() else []


def _pin(cargo: Cargo, program: CargoProgram, package: Path) -> None:
    """Have cargo write the lock file with the program's version, and what was published with it."""
    _done(program, cargo.run(package, "update", "--package", program.crate, "--precise", program.version))
    if program.bundle is None:
        return
    said = _done(program, cargo.run(package, "metadata", "--format-version", "1", "--quiet"))
    oldest = _oldest_asked_for(json.JSONDecoder().raw_decode(said)[0], program.crate, program.bundle)
    _done(program, cargo.run(package, "update", "--package", program.bundle, "--precise", oldest))


def _oldest_asked_for(metadata: dict[str, Any], crate: str, dependency: str) -> str:
    """The oldest version that a crate's requirement of a dependency allows, from what ``cargo metadata`` prints."""
    [asking] = (package for package in metadata["packages"] if package["name"] == crate)
    [wanted] = (each["req"] for each in asking["dependencies"] if each["name"] == dependency)
    return str(wanted).lstrip("^=~> ")


def _compile(cargo: Cargo, program: CargoProgram, package: Path, folder: Path) -> None:
    """Install the program into a folder; unoptimised, which is quick enough to say what a client does."""
    words = ("--path", package, "--root", folder, "--target-dir", folder / "work" / "target")
    # zlib is built along rather than taken from the machine, which may have it, or its headers, or neither
    env = {"LIBZ_SYS_STATIC": "1"}
    _done(program, cargo.run(package, "install", "--debug", "--locked", "--no-track", *words, env=env))


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
