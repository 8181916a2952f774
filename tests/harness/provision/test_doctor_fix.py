"""``doctor`` finds damage, and ``doctor --fix`` repairs it, where Java, Go and uv are scripts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import uv

from harness.cli.commands import doctor as command
from harness.model.errors import EnvironmentProblem
from harness.plugins import registry
from harness.provision import manifest
from harness.provision.kafka import kafka_jars
from harness.provision.manifest import FIX
from harness.provision.toxiproxy import toxiproxy_server
from testkit.codes import coded, raises_code

pytestmark = pytest.mark.long("hashes an installation for each test")

GO, PYTHON = "franz-go", "confluent-kafka"
LIBRARY = "lib/librdkafka.so"
#: A uv whose ``venv`` makes an environment with a library of 400 bytes.
UV = f"""
    echo uv 0
    [ "$2" = venv ] || exit 0
    for folder; do :; done
    mkdir "$folder/bin" "$folder/lib"
    ln -s /bin/sh "$folder/bin/python"
    head -c 400 /dev/zero > "$folder/{LIBRARY}" """


@pytest.fixture
def ready(machine: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine on which everything that a test damages is installed."""

    # The real uv is found by its package, not on the PATH.
    monkeypatch.setattr(uv, "find_uv_bin", lambda: str(machine.has("uv", UV)))
    machine.has_java("17")
    machine.has_go("1.26.8")
    kafka_jars("4.3.1")
    toxiproxy_server()
    for name in (GO, PYTHON):
        installed(name)
    return machine


def installed(name: str) -> Path:
    kind = registry.client(name)
    return Path(kind.install(kind.default_version).argv[0])


def found(capsys: pytest.CaptureFixture[str], fix: bool = False) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    command.doctor(fix=fix, as_json=True)
    return {one["name"]: one for one in json.loads(capsys.readouterr().out)}


def broken(there: dict[str, dict[str, Any]]) -> dict[str, str]:
    mine = ("kafka 4", "toxiproxy", "python/", "go/")
    return {n: one["detail"] for n, one in there.items() if n.startswith(mine) and one["state"] != "ok"}


def test_intact_clients_are_reported_in_one_line(ready: Any, capsys: pytest.CaptureFixture[str]) -> None:
    there = found(capsys)
    assert broken(there) == {}
    assert there["clients"]["detail"] == "2 installed, as they were made"


def test_an_altered_jar_is_repaired(ready: Any, capsys: pytest.CaptureFixture[str]) -> None:
    jar = kafka_jars("4.3.1").libs / "kafka-clients-4.3.1.jar"
    whole = jar.read_bytes()
    jar.write_bytes(b"CLIENTS")
    assert "kafka-clients-4.3.1.jar was altered" in broken(found(capsys))["kafka 4.3.1"]
    with raises_code(EnvironmentProblem, "installation-damaged", first=coded("entry-altered")):
        kafka_jars("4.3.1")
    assert broken(found(capsys, fix=True)) == {}
    assert jar.read_bytes() == whole


def test_a_truncated_library_of_a_client_is_repaired(ready: Any, capsys: pytest.CaptureFixture[str]) -> None:
    python = installed(PYTHON)
    library = python.parent.parent / LIBRARY
    os.truncate(library, 100)
    [(name, detail)] = broken(found(capsys)).items()
    assert name.startswith(f"python/{PYTHON}@")
    assert detail == f"damaged: {LIBRARY} was altered: it has 100 bytes, and had 400"
    with raises_code(EnvironmentProblem, "installation-damaged", first=coded("size-changed")) as caught:
        installed(PYTHON)
    assert (caught.value.hint, caught.value.exit_code) == (FIX, 3)
    assert broken(found(capsys, fix=True)) == {}
    assert library.stat().st_size == 400


def test_a_foreign_toxiproxy_on_path_is_not_used(ready: Any, capsys: pytest.CaptureFixture[str]) -> None:
    started = ready.cache.parent / "started"
    foreign = ready.has("toxiproxy-server", f"touch {started}; echo toxiproxy-server version 2.12.0")
    server = toxiproxy_server()
    assert (
        f"{foreign} on PATH was not built by kafka-trial, and is not used"
        in found(capsys)["toxiproxy"]["detail"]
    )
    manifest.path_of(server.parent).unlink()
    assert "toxiproxy" in broken(found(capsys))
    assert broken(found(capsys, fix=True)) == {}
    assert toxiproxy_server() == server
    assert not started.exists()


def test_a_half_built_adapter_is_repaired(ready: Any, capsys: pytest.CaptureFixture[str]) -> None:
    binary = installed(GO)
    whole = binary.read_bytes()
    binary.write_bytes(b"half")
    manifest.path_of(binary.parent).unlink()
    [(name, detail)] = broken(found(capsys)).items()
    assert name.startswith(f"go/{GO}@")
    assert detail == "damaged: it was begun, and never finished"
    assert broken(found(capsys, fix=True)) == {}
    assert binary.read_bytes() == whole


def test_an_adapter_whose_build_was_killed_is_repaired(
    ready: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    place = installed(GO).parent
    manifest.path_of(place).unlink()
    partial = place.rename(place.with_name(f".{place.name}.partial"))
    assert [name.partition("@")[0] for name in broken(found(capsys))] == [f"go/{GO}"]
    assert broken(found(capsys, fix=True)) == {}
    assert not partial.exists()
    assert installed(GO).parent == place


def test_a_failed_repair_does_not_stop_the_others(ready: Any, capsys: pytest.CaptureFixture[str]) -> None:
    os.truncate(installed(PYTHON).parent.parent / LIBRARY, 1)
    os.truncate(installed(GO), 1)
    ready.has("go", '[ "$1" = version ] && { echo go version go1.26 linux/amd64; exit; }; exit 1')
    capsys.readouterr()
    command.doctor(fix=True, as_json=False)
    said = "".join(capsys.readouterr())
    # Once for the attempt, and once for its failure.
    assert said.replace("\n", " ").count(f"{GO}@{registry.client(GO).default_version} ") == 2
    assert installed(PYTHON).exists()


def test_only_an_unregistered_client_is_removed(ready: Any, capsys: pytest.CaptureFixture[str]) -> None:
    stray = ready.cache / "installed" / "go" / "unheard-of@1.0-0123456789ab"
    stray.mkdir()
    assert f"go/{stray.name}" in broken(found(capsys))
    assert broken(found(capsys, fix=True)) == {}
    assert not stray.exists()
