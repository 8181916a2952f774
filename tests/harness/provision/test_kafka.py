"""Kafka's jars are used only if they match the committed hashes."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.errors import EnvironmentProblem, UsageError
from harness.provision import kafka
from harness.provision.jars import differences
from harness.provision.kafka import VERSIONS, kafka_jars
from harness.provision.manifest import FIX
from testkit.codes import coded, raises_code

Jars = dict[str, bytes]
jars = st.dictionaries(st.sampled_from("abcd").map(lambda letter: f"{letter}.jar"), st.binary(max_size=3))


@given(pinned=jars, present=jars)
def test_exactly_the_differences_are_named(pinned: Jars, present: Jars) -> None:
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in pinned.items()}
    with TemporaryDirectory() as folder:
        for name, content in present.items():
            (Path(folder) / name).write_bytes(content)
        found = {(each.code, each.params["name"]) for each in differences(Path(folder), sums)}
    missing = {("entry-missing", name) for name in pinned.keys() - present.keys()}
    surplus = {("entry-surplus", name) for name in present.keys() - pinned.keys()}
    altered = {("entry-altered", name) for name in pinned.keys() & present if pinned[name] != present[name]}
    assert found == missing | surplus | altered


def test_jars_are_fetched_once(machine: Any) -> None:
    machine.has_java("17.0.1")
    dist = kafka_jars("4.3.1")
    assert dist.libs == machine.cache / "installed" / "kafka" / "4.3.1"
    assert {jar.name: jar.read_bytes() for jar in dist.libs.iterdir()} == machine.jars
    assert dist.classpath.split(":") == sorted(str(dist.libs / name) for name in machine.jars)
    (machine.bin / "java").unlink()
    assert kafka_jars("4.3.1") == dist


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (
            lambda libs: (libs / "kafka_2.13-4.3.1.jar").write_bytes(b"brokes"),
            coded(
                "installation-damaged",
                place=re.compile(r"4\.3\.1$"),
                first=coded("entry-altered", name="kafka_2.13-4.3.1.jar"),
            ),
        ),
        (
            lambda libs: (libs / "kafka-clients-4.3.1.jar").unlink(),
            coded(
                "installation-damaged",
                place=re.compile(r"4\.3\.1$"),
                first=coded("entry-missing", name="kafka-clients-4.3.1.jar"),
            ),
        ),
        (
            lambda libs: (libs / "evil.jar").touch(),
            coded("installation-damaged", first=coded("entry-surplus", name="evil.jar")),
        ),
        (
            lambda libs: [jar.unlink() for jar in libs.iterdir()],
            coded("installation-damaged", first=coded("entry-missing")),
        ),
    ],
)
def test_every_use_checks_the_jars(machine: Any, harm: Any, sentence: str) -> None:
    machine.has_java("17.0.1")
    libs = kafka_jars("4.3.1").libs
    harm(libs)
    with raises_code(EnvironmentProblem, sentence) as caught:
        kafka_jars("4.3.1")
    assert caught.value.hint == FIX


def test_fetched_jars_are_checked_before_they_are_kept(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has_java("17.0.1")
    # The sums are committed files of the package, which a test must not change.
    monkeypatch.setattr(kafka, "read_sums", lambda version: dict.fromkeys(machine.jars, "0" * 64))
    with raises_code(EnvironmentProblem, "fetched-not-pinned", first=coded("entry-altered")):
        kafka_jars("4.3.1")
    assert not (machine.cache / "installed" / "kafka" / "4.3.1").exists()


def test_a_failed_fetch_leaves_nothing(machine: Any) -> None:
    says = "echo ':: problems'; echo 'Server access error at url x (Connection refused)' >&2; exit 1"
    machine.has("java", f"""[ "$1" = -version ] && {{ echo 'openjdk version "17"'; exit; }}; {says}""")
    with raises_code(EnvironmentProblem, "fetch-failed"):
        kafka_jars("4.3.1")
    assert not (machine.cache / "installed" / "kafka" / "4.3.1").exists()


def test_an_unknown_version_is_a_usage_error() -> None:
    with raises_code(UsageError, "unknown-name", name="4.3.0", suggestion="4.3.1"):
        kafka_jars("4.3.0")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_committed_sums_cover_the_requested_jars(version: str) -> None:
    sums = kafka.read_sums(version)
    assert {f"{name}-{revision}.jar" for _, name, revision in VERSIONS[version]} <= sums.keys()
    assert f"kafka-clients-{version}.jar" in sums
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in sums.values())


def test_the_package_contains_no_address() -> None:
    files = [
        path for path in Path(kafka.__file__).parent.rglob("*") if path.is_file() and path.suffix != ".pyc"
    ]
    assert len(files) > 8
    assert [path.name for path in files if "://" in path.read_text()] == []
