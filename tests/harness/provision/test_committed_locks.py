"""Each tested version has a committed lock with the version, hashes of all dependencies, and no address.

No committed file names the address of a registry, which is configured by the user of each package client.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem
from harness.plugins import registry
from harness.provision import toxiproxy
from harness.provision.jars import sums_in

#: Hosts of registries and prefixes of their addresses, in parts so that this file does not contain them.
HOSTS = tuple(
    "".join(parts).encode()
    for parts in (
        ("crates", ".io"),
        ("pypi", ".org"),
        ("python", "hosted"),
        ("npm", "js."),
        ("yarn", "pkg.com"),
        ("maven", ".org"),
        ("repo", ".maven"),
        ("repo1", "."),
        ("proxy", ".golang"),
        ("sum", ".golang"),
        ("go", "proxy.io"),
        ("go", "proxy.cn"),
        ("packages", ".confluent"),
        ("deb", ".debian"),
        ("archive", ".ubuntu"),
    )
)


def _locks() -> Iterator[tuple[Any, str]]:
    for kind in registry.table("clients").values():
        if hasattr(kind, "locks"):
            yield from ((kind, version) for version in kind.versions)


LOCKS = list(_locks())
each = pytest.mark.parametrize(("kind", "version"), LOCKS, ids=lambda one: str(getattr(one, "name", one)))


def test_every_fetched_client_has_locks() -> None:
    fetched = {name for name in registry.names("clients") if not name.startswith("mutant-")} - {"reference"}
    assert {kind.name for kind, _ in LOCKS} == fetched


@each
def test_a_lock_pins_the_version_and_its_dependencies(kind: Any, version: str) -> None:
    folder: Path = kind.locks / version
    checked = {file.name: CHECKS[file.name](file.read_text(), file, version) for file in folder.iterdir()}
    assert any(checked.values()), "no file of the lock names the version"


@each
def test_a_lock_contains_no_address(kind: Any, version: str) -> None:
    for file in (kind.locks / version).iterdir():
        text = file.read_text()
        assert "://" not in text
        assert not re.search(r"^--|@ (file|git)|\"(resolved|link)\"|^replace", text, re.MULTILINE)


def test_no_committed_file_names_the_host_of_a_registry() -> None:
    root = Path(__file__).parents[3]
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone")
    files = [root / name.decode() for name in listed.split(b"\0") if name]
    named = {
        f"{file.relative_to(root)}: {host.decode()}"
        for file in files
        if file.is_file()
        for content in [file.read_bytes().lower()]
        for host in HOSTS
        if host in content
    }
    assert files and not named


def _requirements(text: str, file: Path, version: str) -> bool:
    pins = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    assert all(re.match(r"[\w.-]+==[\w.]+ .*--hash=sha256:[0-9a-f]{64}", pin) for pin in pins)
    return any(f"=={version} " in pin for pin in pins)


def _package(text: str, file: Path, version: str) -> bool:
    return version in json.loads(text)["dependencies"].values()


def _package_lock(text: str, file: Path, version: str) -> bool:
    packages = json.loads(text)["packages"]
    assert all(re.match("sha512-", one["integrity"]) for name, one in packages.items() if name)
    return any(one.get("version") == version for one in packages.values())


def _go_mod(text: str, file: Path, version: str) -> bool:
    sums = file.with_name("go.sum").read_text()
    wanted = re.findall(r"^(?:require |\t)(\S+ v\S+)", text, re.MULTILINE)
    assert wanted and all(f"{one} h1:" in sums or f"{one}/go.mod h1:" in sums for one in wanted)
    return any(one.endswith(f" v{version}") for one in wanted)


def _go_sum(text: str, file: Path, version: str) -> bool:
    assert all(re.fullmatch(r"\S+ v\S+ h1:[\w+/]{43}=", line) for line in text.splitlines())
    return False


def _cargo(text: str, file: Path, version: str) -> bool:
    packages = text.split("[[package]]")[1:]
    fetched = [one for one in packages if "source = " in one]
    assert all(re.search(r'^source = "registry"\nchecksum = "[0-9a-f]{64}"$', one, re.M) for one in fetched)
    return f'name = "rdkafka"\nversion = "{version}"' in text


def _jars(text: str, file: Path, version: str) -> bool:
    sums = sums_in(file)
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in sums.values())
    return f"kafka-clients-{version}.jar" in sums


CHECKS = {
    "requirements.txt": _requirements,
    "package.json": _package,
    "package-lock.json": _package_lock,
    "go.mod": _go_mod,
    "go.sum": _go_sum,
    "Cargo.lock": _cargo,
    "jars.sha256": _jars,
}


def test_toxiproxy_is_pinned_with_its_dependencies() -> None:
    text = (toxiproxy.SOURCES / "go.mod").read_text()
    assert _go_mod(text, toxiproxy.SOURCES / "go.mod", toxiproxy.VERSION)


def test_a_lock_that_cannot_be_renewed_is_unchanged(tmp_path, monkeypatch) -> None:
    def lock(version: str, folder: Path) -> None:
        (folder / "a.lock").write_text("half of it")
        if version == "2":
            raise EnvironmentProblem("made-up", "no network")

    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "a.lock").write_text("whole")
    kind = SimpleNamespace(versions=("1", "2", "3"), locks=tmp_path, lock=lock)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "scripts"))
    script = importlib.import_module("lock_clients")
    # A script reads its arguments from there.
    monkeypatch.setattr("sys.argv", ["lock_clients.py", "tiny", "--again"])

    with registry.replaced("clients", {"tiny": kind}):
        assert script.main() == 3
    found = [path.read_text() for path in sorted(tmp_path.glob("*/a.lock"))]
    assert found == ["half of it", "whole", "half of it"]
