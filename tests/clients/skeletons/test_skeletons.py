"""``kafka-trial init``: its skeletons build and pass the contract tests unchanged, and its other files are valid."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

import clients.adapters
from clients.adapters.java import COMPANIONS
from clients.adapters.kafkajs import OLDEST_NODE
from clients.skeletons.files import adapter_files, template, write_new
from clients.skeletons.languages import LANGUAGES
from harness.adapter.protocol_rules import Life, ProtocolRules
from harness.cli.main import call
from harness.model.contract import Close, Configure, Flush
from harness.model.errors import EnvironmentProblem, UsageError
from harness.planning import campaign_file
from harness.plugins.client import Launch
from harness.provision.cargo import find_cargo
from harness.provision.go import go_tool
from harness.provision.java_programs import java_program
from harness.provision.node import node_runtime
from harness.workloads.produce.commands import Produce
from suites.contract import CASES, check_contract
from suites.contract.consumer_cases import CONSUMER_CASES
from testkit.codes import coded, has_error, raises_code

pytestmark = pytest.mark.long("builds a program and starts it for each test")

ADAPTERS = Path(clients.adapters.__file__).parent
BUILT_S = 1_800
EVERY_LANGUAGE = pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: language.name)
#: Files that a build creates next to the sources of a library.
LEFT = {"__pycache__", "target", "Cargo.lock"}


def written(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def init(folder: Path, language: str, *words: str) -> Path:
    assert call(["init", "adapter", "--language", language, "--dir", str(folder), *words]) == 0
    return folder


def passes_the_contract(argv: list[str], logs: Path) -> None:
    results = asyncio.run(check_contract(Launch(tuple(argv), {}), folder=logs))
    assert [result.case for result in results] == [case for case in CASES if case not in CONSUMER_CASES]
    assert [f"{result.case}: {result.detail}" for result in results if not result.passed] == []


@pytest.fixture
def on_path(monkeypatch, tmp_path):
    """Put a language's tools on PATH, and install them if the machine has none."""

    def put(language: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        if language == "python":
            found = Path(sys.executable).parent
        elif language == "go":
            found = go_tool().parent
            monkeypatch.setenv("GOTOOLCHAIN", "local")
        elif language == "rust":
            found = find_cargo().path.parent
        else:
            node = node_runtime(OLDEST_NODE)
            found = node.path.parent
            (folder / "npm").write_text(f'#!/bin/sh\nexec {shlex.join(map(str, node.npm))} "$@"\n')
            (folder / "npm").chmod(0o755)
        monkeypatch.setenv("PATH", os.pathsep.join([str(folder), str(found), os.environ["PATH"]]))

    return put


@pytest.mark.parametrize(
    "name",
    ["python", "go", "node", pytest.param("rust", marks=pytest.mark.every_client)],
)
def test_skeleton_builds_and_passes_contract(name, on_path, monkeypatch, tmp_path):
    on_path(name)
    monkeypatch.chdir(init(tmp_path / "skeleton", name))
    build = subprocess.run(
        LANGUAGES[name].build, shell=True, capture_output=True, text=True, timeout=BUILT_S, check=False
    )
    assert build.returncode == 0, build.stderr
    passes_the_contract(shlex.split(LANGUAGES[name].command), tmp_path)


def test_java_skeleton_compiles_without_maven_and_passes_contract(tmp_path):
    """The harness's own compiler and Ivy build it, for a machine without JDK and Maven."""
    folder = init(tmp_path / "skeleton", "java")
    pom = ET.parse(folder / "pom.xml")
    modules = [
        tuple(dependency.findtext(f"{{*}}{part}") for part in ("groupId", "artifactId", "version"))
        for dependency in pom.iterfind(".//{*}dependency")
    ]
    assert modules == [COMPANIONS[0]]
    program = java_program(modules, [folder / "src" / "main" / "java"])
    main = pom.findtext(".//{*}mainClass")
    passes_the_contract([str(program.java), "-cp", program.classpath, main], tmp_path)


@pytest.mark.every_client
@pytest.mark.skipif(shutil.which("mvn") is None, reason="there is no Maven here")
def test_java_skeleton_builds_with_maven(monkeypatch, tmp_path):
    monkeypatch.chdir(init(tmp_path / "skeleton", "java"))
    build = subprocess.run(
        LANGUAGES["java"].build, shell=True, capture_output=True, text=True, timeout=BUILT_S, check=False
    )
    assert build.returncode == 0, build.stdout
    passes_the_contract(shlex.split(LANGUAGES["java"].command), tmp_path)


@EVERY_LANGUAGE
def test_skeleton_library_equals_the_adapters_library(language, tmp_path):
    library = ADAPTERS / language.library
    ours = {name: content for name, content in written(library).items() if not LEFT & set(Path(name).parts)}
    assert written(init(tmp_path / "skeleton", language.name) / language.place) == ours


@EVERY_LANGUAGE
def test_skeleton_has_the_given_name_and_no_placeholders(language, tmp_path):
    folder = init(tmp_path / "skeleton", language.name, "--name", "franz-go@2")
    assert '"franz-go@2"' in (folder / language.program).read_text()
    assert "NotImplemented" in (folder / language.program).read_text()
    own = {name: text for name, text in written(folder).items() if not name.startswith(language.place)}
    assert not [name for name, text in own.items() if re.search(rb"\$[a-z]", text) or b"my-client" in text]
    assert not [name for name in written(folder) if name.endswith(".template")]
    assert {language.program, language.build_file, "README.md"} == own.keys()


@EVERY_LANGUAGE
def test_readme_has_the_commands_and_the_settings(language):
    readme = adapter_files(language, "mine")["README.md"].decode()
    commands = [
        language.build,
        f"kafka-trial check-adapter -- {language.command}",
        f"kafka-trial run produce/calm -- {language.command}",
    ]
    assert "```\n" + "\n".join(commands) + "\n```" in readme
    assert "- `delivery.timeout.ms`: 30000\n" in readme
    assert "- `compression.type`: none, gzip, snappy, lz4, zstd\n" in readme


def test_python_skeleton_supports_old_python_and_is_formatted():
    source = adapter_files(LANGUAGES["python"], "mine")["main.py"]
    ast.parse(source, feature_version=(3, 8))
    for words in (["format", "--check"], ["check", "--ignore", "E501"]):
        ruff = [sys.executable, "-m", "ruff", *words, "--isolated", "--line-length", "110", "-"]
        ended = subprocess.run(ruff, input=source, capture_output=True, check=False)
        assert ended.returncode == 0, ended.stdout


def test_init_prints_next_steps_and_written_files(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert call(["init", "adapter", "--language", "go", "--name", "mine", "--json"]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert set(document["files"]) == {f"mine/{name}" for name in written(tmp_path / "mine")}
    assert document["next"][0] == "cd mine"
    assert all(f"next: {step}\n" in told.err for step in document["next"])


def test_init_without_arguments_lists_the_languages(capsys):
    assert call(["init"]) == 0
    told = capsys.readouterr().out
    assert all(f"kafka-trial init {what}" in told for what in ("adapter", "campaign", "ci"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["adapter"],
            ("no-language",),
        ),
        (
            ["adapter", "--language", "pyton"],
            ("unknown-name", "'pyton'", "'python'"),
        ),
        (["adapter", "--language", "cobol"], ("unknown-name", "'cobol'")),
        (["adapter", "--language", "go", "--name", "../evil"], ("name-not-portable", "'../evil'")),
        (["adapter", "--language", "go", "--dir", "full"], ("folder-not-empty",)),
        (
            ["adapter", "--language", "go", "--dir", "full/file"],
            ("not-a-folder", "full/file"),
        ),
        (
            ["campaign", "--file", "full/file"],
            ("file-exists", "full/file"),
        ),
        (
            ["ci", "--file", "full/file"],
            ("file-exists", "full/file"),
        ),
        (["ci", "--file", "full/file/ci.yml"], ("file-exists", "full/file")),
        (["adaptor"], ("usage-error", "'adaptor'")),
    ],
)
def test_refused_init_writes_nothing(words, sentence, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    assert call(["init", *words]) == 2
    told = capsys.readouterr().err
    assert has_error(told, *sentence) and "Traceback" not in told
    assert written(tmp_path) == {"full/file": b"mine"}


@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [
        ("x" * 300, EnvironmentProblem, coded("cannot-write", why="File name too long")),
        ("one/two", UsageError, coded("file-exists", path=re.compile(r"one$"))),
    ],
)
def test_incomplete_skeleton_is_removed(name, error, sentence, tmp_path):
    with raises_code(error, sentence):
        write_new({tmp_path / "one": b"1", tmp_path / name: b"2"})
    assert written(tmp_path) == {}


def test_empty_folder_is_accepted(tmp_path):
    assert "go.mod" in written(init(tmp_path, "go"))


def test_campaign_is_valid_with_and_without_comments(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert call(["init", "campaign"]) == 0
    assert campaign_file.load(tmp_path / "campaign.toml").clients[0] == "reference"
    assert call(["campaign", "campaign.toml", "--dry-run"]) == 0
    assert "36 combinations" in capsys.readouterr().err
    commented = r"^# (?=\[|[\w.-]+ = )"
    whole = re.sub(commented, "", template("campaign.toml").decode(), flags=re.MULTILINE)
    (tmp_path / "whole.toml").write_text(whole)
    file = campaign_file.load(tmp_path / "whole.toml")
    assert file.configurations.keys() == {"common", "one-by-one"}
    assert len(file.generated["network"].kinds) == 3 and file.combine == "pairwise"
    assert call(["campaign", "whole.toml", "--dry-run"]) == 0


def test_no_file_names_a_registry():
    for language in LANGUAGES.values():
        for name, content in adapter_files(language, "mine").items():
            assert not re.search(rb"https?://(?!maven\.apache\.org/POM/4\.0\.0)", content), name
    assert b"://" not in template("kafka-trial.yml") + template("campaign.toml")


def test_contract_example_in_the_docs_is_valid():
    example = (Path(__file__).parents[3] / "docs" / "reference" / "adapters.md").read_text()
    rules = ProtocolRules(began_ns=0)
    for arrow, line in re.findall(r"^([<>]) (\{.*\})$", example, re.MULTILINE):
        if arrow == ">":
            rules.asked(msgspec.json.decode(line, type=Configure | Produce | Flush | Close))
        else:
            assert rules.said(line.encode(), now_ns=2**62) is not None
    assert rules.life is Life.SHUT_DOWN and rules.outstanding == 0 and rules.unknown == []
