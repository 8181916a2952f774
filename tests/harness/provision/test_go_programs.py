"""A Go program for one version of a client: what is built, and the errors if it cannot be built."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem, UsageError
from harness.provision.go_programs import GoProgram, built, published
from testkit.codes import raises_code

OLD, NEW = "example.com/old/client", "example.com/client"
LISTED = "v1.0.0 v1.2.0 v1.10.0"
#: Records its arguments and copies the module that it builds, beside itself.
COMPILES = """
    echo "$CGO_ENABLED $@" >> "$0.told"
    while [ "$1" != -C ]; do shift; done
    cp -r "$2" "$0.module"
    while [ "$1" != -o ]; do shift; done
    echo binary > "$2" """


@pytest.fixture
def go_that(machine: Any) -> Any:
    """Return a function that puts a Go on the PATH, with its scripts for building and for listing versions."""

    def put(build: str = COMPILES, listing: str = f"echo {LISTED}", version: str = "1.26.8") -> Path:
        script = f"""
            case $1 in
            version) echo go version go{version} linux/amd64 ;;
            list) {listing} ;;
            build) {build} ;;
            esac"""
        path: Path = machine.has("go", script)
        return path

    return put


@pytest.fixture
def program(tmp_path: Path) -> GoProgram:
    sources, library = tmp_path / "sources", tmp_path / "library"
    for folder, text in ((sources, f'import "{NEW}/part"'), (library, "package library")):
        folder.mkdir()
        (folder / "some.go").write_text(text)
    (sources / "__init__.py").write_text("not Go")
    return GoProgram("client", "1.2.0", NEW, (OLD, NEW), sources, {"library": library}, tags=("since_1_1",))


def failing(said: str) -> str:
    return f"echo '{said}' >&2; exit 1"


def test_a_program_is_built_once_and_only_the_binary_is_kept(program: GoProgram, go_that: Any) -> None:
    path = go_that()
    binary = built(program)
    assert binary.read_text() == "binary\n"
    assert [entry.name for entry in binary.parent.iterdir()] == ["client"]
    assert built(program) == binary
    assert path.with_name("go.told").read_text().count("build") == 1


def test_the_module_has_our_sources_and_requires_the_version(program: GoProgram, go_that: Any) -> None:
    path = go_that()
    built(program)
    module = path.with_name("go.module")
    assert sorted(str(file.relative_to(module)) for file in module.rglob("*.*")) == [
        "go.mod",
        "library/some.go",
        "some.go",
    ]
    assert f"require {NEW} v1.2.0" in (module / "go.mod").read_text()
    told = path.with_name("go.told").read_text()
    assert told.startswith("0 build") and "-tags=since_1_1" in told


def test_sources_import_the_path_of_the_module(program: GoProgram) -> None:
    files = replace(program, module=OLD).files()
    assert files["./some.go"] == f'import "{OLD}/part"'.encode()
    assert f"require {OLD} v1.2.0".encode() in files["go.mod"]


def test_each_input_of_a_build_gives_another_binary(program: GoProgram, go_that: Any) -> None:
    go_that()
    places = [
        built(each).parent
        for each in (program, replace(program, version="1.10.0"), replace(program, tags=()))
    ]
    go_that(version="1.27.0")
    places.append(built(program).parent)
    (program.sources / "some.go").write_text("changed")
    places.append(built(program).parent)
    assert len(set(places)) == 5


def test_an_unknown_version_is_a_usage_error_with_the_newest(program: GoProgram, go_that: Any) -> None:
    go_that(failing("reading v1.3.0.info: 403 Forbidden"))
    with raises_code(
        UsageError, "unknown-client-version", named="client 1.3.0", package="client", newest="1.10.0"
    ):
        built(replace(program, version="1.3.0"))


def test_a_version_that_does_not_fit_the_sources_is_a_usage_error(program: GoProgram, go_that: Any) -> None:
    said = "./some.go:9:12: undefined: client.Thing"
    go_that(failing(said))
    with raises_code(UsageError, "adapter-does-not-fit", named="client 1.2.0", why=said):
        built(program)


def test_a_missing_network_is_an_environment_problem(program: GoProgram, go_that: Any) -> None:
    offline = failing("go: Get x: dial tcp: lookup proxy: no such host")
    go_that(offline, listing=offline)
    why = r"Go's registry cannot be reached \(no such host\)"
    with raises_code(EnvironmentProblem, "build-failed", named="client 1.2.0", cause=re.compile(why)):
        built(program)
    with raises_code(EnvironmentProblem, "versions-not-listed", module=NEW, cause=re.compile(why)):
        published(NEW)


def test_a_failed_build_leaves_nothing(program: GoProgram, go_that: Any, machine: Any) -> None:
    go_that(failing("disk full"))
    with raises_code(EnvironmentProblem, "build-failed", named="client 1.2.0", cause="disk full"):
        built(program)
    assert [each.name for each in (machine.cache / "installed" / "go").iterdir() if each.is_dir()] == []


def test_a_client_that_needs_a_newer_go_gets_the_borrowed_one(
    program: GoProgram, go_that: Any, lend: Any, tmp_path: Path
) -> None:
    borrowed = go_that(version="1.27.3").rename(tmp_path / "go")
    go_that(failing("go.mod requires go >= 1.26.0 (running go 1.24.0; GOTOOLCHAIN=local)"), version="1.24.0")
    lend(tmp_path / "python")
    assert built(program).exists()
    assert "build" in borrowed.with_name("go.told").read_text()


def test_a_go_that_is_too_old_is_reported_with_a_hint(
    program: GoProgram, go_that: Any, lend: Any, tmp_path: Path
) -> None:
    go_that(failing("go.mod requires go >= 1.99.0 (running go 1.27.3; GOTOOLCHAIN=local)")).rename(
        tmp_path / "go"
    )
    lend(tmp_path / "python")
    with raises_code(EnvironmentProblem, "go-too-old", needed="1.99.0") as caught:
        built(program)
    assert caught.value.hint == "install Go 1.99.0 or later"


def test_a_client_that_wraps_c_needs_a_compiler(
    program: GoProgram, go_that: Any, machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    path = go_that()
    wrapping = replace(program, cgo=True)
    with raises_code(EnvironmentProblem, "compiler-missing", compiler="gcc") as caught:
        built(wrapping)
    assert caught.value.hint == "apt-get install gcc libc6-dev"
    machine.has("gcc", "exit 0")
    assert built(wrapping).exists()
    assert path.with_name("go.told").read_text().startswith("1 build")


def test_versions_of_all_paths_are_listed_oldest_first(go_that: Any) -> None:
    go_that(listing=f'for module; do :; done; [ "$module" = {OLD} ] && echo v0.9.0 v0.10.0 || echo {LISTED}')
    assert published(OLD, NEW) == ["0.9.0", "0.10.0", "1.0.0", "1.2.0", "1.10.0"]
