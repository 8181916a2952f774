"""Programs in Go: built once from the project's sources and one version of a client's module, and cached.

A program's ``go.mod`` and ``go.sum`` are its committed lock. If there is none, a ``go.mod`` is made that requires only
the version, and Go's checksum database verifies it. All builds share one cache of modules, which is verified after each
build, and one of compiled packages.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.model.errors import EnvironmentProblem, KafkaTrialError, UsageError
from harness.provision.caches import cache_dir, installed
from harness.provision.environment import find_program
from harness.provision.go import BORROWED, OLDEST, borrowed_go, find_go, go_tool, go_version, run_go
from harness.provision.tools import Ended, excerpt
from harness.provision.versions import in_order, unknown_version

log = logging.getLogger(__name__)

LOCK = ("go.mod", "go.sum")
#: The module of every program. The project's package in the folder ``x`` is imported as ``adapter/x``.
_GO_MOD = "module adapter\n\ngo {go}\n\nrequire {module} v{version}\n"
_NEWER_GO = re.compile(r"requires go >= (\S+)")
_UNREACHABLE = ("dial tcp", "no such host", "i/o timeout")
_NOT_LOCKED = ("checksum mismatch", "missing go.sum", "updates to go.mod needed")
_OUR_CODE = re.compile(r"^\./\w+\.go:.*", re.MULTILINE)


@dataclass(frozen=True)
class GoProgram:
    """A program for one version of a client.

    ``sources`` is its folder, and ``packages`` maps names to the project's own folders that it imports. ``modules`` are
    the paths that the client's module has had, oldest first: the sources import the last, and ``module`` is the one of
    this version.
    """

    client: str
    version: str
    module: str
    modules: tuple[str, ...]
    sources: Path
    packages: Mapping[str, Path]
    tags: tuple[str, ...] = ()
    cgo: bool = False
    lock: Path | None = None

    def files(self) -> dict[str, bytes]:
        """Return the files of the build, by their path in the program's module."""
        folders = {".": self.sources, **self.packages}
        found = {
            f"{name}/{path.name}": path.read_bytes().replace(
                f'"{self.modules[-1]}'.encode(), f'"{self.module}'.encode()
            )
            for name, folder in folders.items()
            for path in sorted(folder.glob("*.go"))
        }
        if self.lock:
            return found | {name: self.lock.with_name(name).read_bytes() for name in LOCK}
        go = ".".join(map(str, OLDEST))
        return found | {"go.mod": _GO_MOD.format(go=go, module=self.module, version=self.version).encode()}


def built(program: GoProgram) -> Path:
    """Return the program's binary, after building it if it is missing.

    Raises UsageError if that version does not exist, and EnvironmentProblem without Go or a C compiler, or if the build
    failed.
    """
    files = program.files()
    digest = hashlib.sha256(f"{program.tags} {program.cgo} {_built_with()}".encode())
    for name, content in files.items():
        digest.update(f"{name} {len(content)} ".encode() + content)
    named = f"{program.client}@{program.version}"

    def build(folder: Path) -> None:
        log.info("building %s %s", program.client, program.version)
        module = folder / "module"
        _write(files, module)
        _compile(program, module, folder / program.client)
        shutil.rmtree(module)

    is_locked = program.lock is not None
    return installed("go", f"{named}-{digest.hexdigest()[:12]}", build, is_locked=is_locked) / program.client


def write_lock(program: GoProgram, lock: Path) -> None:
    """Resolve a program's module with Go as of today, into ``go.mod`` and ``go.sum`` of a folder."""
    with TemporaryDirectory(dir=cache_dir()) as folder:
        module = Path(folder)
        _write(replace(program, lock=None).files(), module)
        ended = run_go(borrowed_go(), "-C", module, "mod", "tidy", mod="mod")
        if ended.returncode != 0:
            raise _explained(program, ended)
        for name in LOCK:
            shutil.copyfile(module / name, lock / name)


def published(*modules: str) -> list[str]:
    """Return every listed version of a client's modules, oldest first. EnvironmentProblem: the query failed."""
    listed: list[str] = []
    go = go_tool()
    for module in modules:
        words = ("-m", "-versions", "-retracted", "-f", '{{join .Versions " "}}', module)
        ended = run_go(go, "list", *words, mod="mod")
        if ended.returncode != 0:
            raise EnvironmentProblem(
                "versions-not-listed",
                "the versions of {module} could not be listed: {cause}",
                module=module,
                cause=_cause(ended.output),
            )
        listed += [version.removeprefix("v") for version in ended.output.split()]
    return in_order(listed)


def _built_with() -> str:
    """Return a key for the Go that builds a program: the machine's, and the pinned one used if that is not suitable."""
    machine = find_go()
    return f"{go_version(machine) if machine else ''} {BORROWED.read_text()}"


def _compile(program: GoProgram, module: Path, binary: Path) -> None:
    compiler = os.environ.get("CC") or "gcc"
    if program.cgo and not find_program(compiler):
        raise EnvironmentProblem(
            "compiler-missing",
            "{client} wraps a C library, and there is no {compiler} to build it with",
            hint="apt-get install gcc libc6-dev",
            client=program.client,
            compiler=compiler,
        )
    words = (
        "-C",
        module,
        "-trimpath",
        "-ldflags=-s -w",
        f"-tags={','.join(program.tags)}",
        "-o",
        binary,
        ".",
    )
    mod = "readonly" if program.lock else "mod"
    go = find_go() or borrowed_go()
    ended = run_go(go, "build", *words, cgo=program.cgo, mod=mod)
    if _NEWER_GO.search(ended.output) and go != borrowed_go():
        go = borrowed_go()
        ended = run_go(go, "build", *words, cgo=program.cgo, mod=mod)
    if ended.returncode != 0:
        raise _explained(program, ended)
    verify_modules(go, module, f"{program.client} {program.version}")


def verify_modules(go: Path, module: Path, what: str) -> None:
    """Raise EnvironmentProblem unless the modules match go.sum. Go itself checks them only when it fetches them."""
    ended = run_go(go, "-C", module, "mod", "verify")
    if ended.returncode != 0:
        cause = excerpt(ended.output, "modified", "SECURITY")
        where = cache_dir() / "go" / "modules"
        raise EnvironmentProblem(
            "modules-not-pinned",
            "{what} was built from modules that do not match go.sum: {cause}",
            hint=f"rm -rf {where}",
            what=what,
            cause=cause,
        )


def _write(files: Mapping[str, bytes], module: Path) -> None:
    for name, content in files.items():
        (module / name).parent.mkdir(parents=True, exist_ok=True)
        (module / name).write_bytes(content)


def _explained(program: GoProgram, ended: Ended) -> KafkaTrialError:
    named = f"{program.client} {program.version}"
    if newer := _NEWER_GO.search(ended.output):
        return EnvironmentProblem(
            "go-too-old",
            "{named} needs Go {needed}, which is newer than the ones found",
            hint=f"install Go {newer[1]} or later",
            named=named,
            needed=newer[1],
        )
    try:
        known = published(*program.modules)
    except EnvironmentProblem:
        known = []
    if known and program.version not in known:
        return unknown_version(named, program.client, known[-1])
    if unfit := _OUR_CODE.search(ended.output):
        return UsageError(
            "adapter-does-not-fit",
            "{named} is not what its adapter was made for: {why}",
            named=named,
            why=unfit[0],
        )
    return EnvironmentProblem(
        "build-failed", "{named} could not be built: {cause}", named=named, cause=_cause(ended.output)
    )


def _cause(said: str) -> str:
    line = excerpt(said, *_UNREACHABLE, *_NOT_LOCKED, "error:", "cannot find", "fatal:")
    if any(words in line for words in _UNREACHABLE):
        return f"Go's registry cannot be reached ({line.rsplit(': ', 1)[-1]})"
    return line
