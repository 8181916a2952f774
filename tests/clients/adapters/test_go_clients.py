"""The Go clients: which program a version gets, and that the Go sources are formatted by gofmt."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import clients.adapters
from clients.adapters import confluent_kafka_go, franz_go, kafka_go, sarama
from harness.model.errors import UsageError
from harness.provision.go import go_tool, run_go
from harness.provision.versions import in_order
from testkit.codes import raises_code

CLIENTS = (confluent_kafka_go.CLIENT, franz_go.CLIENT, kafka_go.CLIENT, sarama.CLIENT)
ADAPTERS = Path(clients.adapters.__file__).parent


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request):
    return request.param


def test_versions_are_in_order_and_default_is_the_newest(client):
    assert list(client.versions) == in_order(client.versions)
    assert len(client.versions) >= 3
    assert client.default_version == client.versions[-1]


@pytest.mark.parametrize(
    "version", ["", "latest", "v1.2.3", "1", "1.2", "1.2.3.4", "1.2.3-master", ">=1.2.3", "-x"]
)
def test_malformed_version_is_rejected(client, version):
    with raises_code(UsageError, "client-version-format", client=client.name, example=client.default_version):
        client.install(version)


def test_prerelease_version_is_accepted(client):
    assert client.program("1.99.0-rc.1").version == "1.99.0-rc.1"


@pytest.mark.parametrize(
    ("version", "owner"), [("1.23.1", "Shopify"), ("1.38.1", "Shopify"), ("1.40.1", "IBM"), ("1.61.1", "IBM")]
)
def test_sarama_module_path_has_the_owner_of_its_version(version, owner):
    program = sarama.CLIENT.program(version)
    assert program.module == f"github.com/{owner}/sarama"
    assert f'"github.com/{owner}/sarama"'.encode() in program.files()["./main.go"]


@pytest.mark.parametrize(("version", "path"), [("1.9.2", ""), ("2.3.0", "/v2")])
def test_module_path_has_the_major_version(version, path):
    module = confluent_kafka_go.CLIENT.program(version).module
    assert module == f"github.com/confluentinc/confluent-kafka-go{path}"


def test_newer_versions_get_more_build_tags():
    tags = {version: franz_go.CLIENT.program(version).tags for version in ("1.0.0", "1.18.1", "1.21.0")}
    assert tags["1.0.0"] == ()
    assert tags["1.18.1"] == ("since_1_4", "since_1_6", "since_1_7", "since_1_15")
    assert tags["1.21.0"] == (*tags["1.18.1"], "since_1_19", "since_1_21")


def test_every_build_tag_in_the_sources_is_set_by_a_version(client):
    asked = {
        tag
        for path in client.folder.glob("*.go")
        for tag in re.findall(r"^//go:build (\S+)$", path.read_text(), re.M)
    }
    assert asked == set(client.program("999.0.0").tags)


def test_library_imports_only_the_standard_library():
    imports = {
        name
        for path in (ADAPTERS / "go_lib" / "verifiable").glob("*.go")
        for name in re.findall(r'^(?:import |\t)"([\w./-]+)"$', path.read_text(), re.M)
    }
    assert "encoding/json" in imports
    assert [name for name in imports if "." in name.split("/")[0]] == []


@pytest.mark.long("starts gofmt")
def test_sources_are_formatted_by_gofmt():
    sources = [*ADAPTERS.glob("**/*.go"), *Path(__file__).parent.glob("**/*.go")]
    assert len(sources) > 10
    gofmt = Path(run_go(go_tool(), "env", "GOROOT").output.strip()) / "bin" / "gofmt"
    ended = subprocess.run([gofmt, "-l", *sources], capture_output=True, text=True, check=True)
    assert ended.stdout == ""
