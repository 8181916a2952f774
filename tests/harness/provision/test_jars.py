"""Jars fetched by Ivy and programs compiled from them, with a script as Java: no network, no JVM."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem, UsageError
from harness.provision import jars, java_programs, jgo
from harness.provision.jars import fetch, published
from harness.provision.java_programs import ECJ, java_program
from testkit.codes import coded, raises_code

CLIENT = ("org.example", "tiny-client", "1.1.0")
LOGGING = ("org.example", "tiny-log", "0.3")

#: A list of versions in the form of Ivy's debug messages, not in order.
LISTING = "echo 'found revs: [1.0.0, 1.10.0, 0.9.0-rc1, 1.1.0]'"
#: Delivers a jar for each dependency of the description after ``-ivy``.
DELIVER = r"""
    sed -n 's/.*name="\([^"]*\)" rev="\([^"]*\)".*/\1-\2.jar/p' "$ivy" | while read jar
    do printf %s "$jar" > "$folder/$jar"; done"""
NOT_FOUND = (
    "echo '\t\tmodule not found: org.example#tiny-client;1.1.0';"
    "echo '\t\t:: org.example#tiny-client;1.1.0: not found'"
)
BROKEN = """----------
1. ERROR in A.java (at line 3)
    import gone.Thing;
           ^^^^
The import gone is missing
----------
2. ERROR in A.java (at line 4)
"""
COMPILE = 'mkdir -p "$classes"; for file; do cat "$file" >> "$classes/all"; done'


def has_java(
    machine: Any, *, listing: str = LISTING, retrieve: str = DELIVER, compile: str = COMPILE
) -> None:
    """Install a Java that runs these shell commands for listing, for retrieving and for ecj."""
    machine.has(
        "java",
        f"""
        [ "$1" = -version ] && {{ echo 'openjdk version "17.0.1"' >&2; exit; }}
        echo "$@" >> {machine.cache.parent}/calls
        case "$*" in
        *-debug*) {listing}; exit 1;;
        *-jar*)
            while [ "$1" != -d ]; do shift; done
            classes=$2; shift 2
            {compile};;
        *)
            while [ "$1" != -ivy ]; do shift; done
            ivy=$2
            while [ "$1" != -retrieve ]; do shift; done
            folder=$(dirname "$2")
            {retrieve};;
        esac""",
    )


@pytest.fixture
def calls(machine: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of recorded Java commands, and pin the compiler that Ivy delivers."""
    jar = f"ecj-{ECJ[2]}.jar"
    # The sums are committed files of the package, and the compiler of this test is made up.
    monkeypatch.setattr(jars, "read_sums", lambda name: {jar: hashlib.sha256(jar.encode()).hexdigest()})
    return machine.cache.parent / "calls"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources" / "tiny"
    folder.mkdir(parents=True)
    (folder / "B.java").write_text("class B {}\n")
    (folder / "A.java").write_text("class A {}\n")
    return folder.parent


def test_only_the_requested_jars_are_fetched(machine, tmp_path):
    has_java(machine)
    libs = tmp_path / "libs"
    libs.mkdir()
    fetch("tiny", [CLIENT, LOGGING], libs)
    assert sorted(path.name for path in libs.iterdir()) == ["tiny-client-1.1.0.jar", "tiny-log-0.3.jar"]


def test_versions_are_listed_oldest_first(machine):
    has_java(machine)
    assert published("org.example", "tiny-client") == ["0.9.0-rc1", "1.0.0", "1.1.0", "1.10.0"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("WARN: Host repo.example not found. url=x:y", "Host repo.example not found"),
        ("ERROR: Server access error at url x:y (Connection refused)", r"Server access error \(Connection"),
        ("module not found: org.example#tiny-client", "module not found: org.example#tiny-client"),
    ],
)
def test_a_failed_list_of_versions_names_the_cause(machine, said, why):
    has_java(machine, listing=f"echo 'found revs: []'; echo '{said}'")
    with raises_code(
        EnvironmentProblem, "versions-not-listed", name="tiny-client", cause=re.compile(why)
    ) as caught:
        published("org.example", "tiny-client")
    assert "x:y" not in str(caught.value)


def test_an_unknown_version_is_a_usage_error_with_the_newest(machine, tmp_path):
    has_java(machine, listing=LISTING.replace(", 1.1.0", ""), retrieve=f"{NOT_FOUND}; exit 1")
    with raises_code(UsageError, "unknown-client-version", package="tiny-client", newest="1.10.0"):
        fetch("tiny", [CLIENT], tmp_path)


def test_a_missing_network_is_an_environment_problem(machine, tmp_path):
    host = "echo 'Host repo.example not found. url=x:y'"
    has_java(machine, listing=f"{host}; echo 'found revs: []'", retrieve=f"{NOT_FOUND}; {host}; exit 1")
    with raises_code(EnvironmentProblem, "fetch-failed", what="tiny", cause="Host repo.example not found"):
        fetch("tiny", [CLIENT], tmp_path)


def test_a_listed_version_that_cannot_be_fetched_is_an_environment_problem(machine, tmp_path):
    has_java(machine, retrieve=f"{NOT_FOUND}; exit 1")
    with raises_code(EnvironmentProblem, "fetch-failed"):
        fetch("tiny", [CLIENT], tmp_path)


def test_a_program_is_compiled_once(machine, calls, sources):
    has_java(machine)
    first = java_program([CLIENT, LOGGING], [sources])
    classes, *libs = first.classpath.split(":")
    assert (Path(classes) / "all").read_text() == "class A {}\nclass B {}\n"
    assert [Path(jar).name for jar in libs] == ["tiny-client-1.1.0.jar", "tiny-log-0.3.jar"]
    assert first.java == machine.bin / "java"
    told = calls.read_text()
    assert java_program([CLIENT, LOGGING], [sources]) == first
    assert calls.read_text() == told


def test_other_sources_or_jars_give_another_program(machine, calls, sources):
    has_java(machine)
    programs = [java_program([CLIENT], [sources]), java_program([CLIENT, LOGGING], [sources])]
    (sources / "tiny" / "A.java").write_text("final class A {}\n")
    programs.append(java_program([CLIENT], [sources]))
    assert len({program.classpath.split(":")[0] for program in programs}) == 3


def test_the_jars_of_a_locked_program_must_match_its_lock(machine, calls, sources, tmp_path):
    has_java(machine)
    lock = tmp_path / "jars.sha256"
    jars.write_sums(Path(java_program([CLIENT, LOGGING], [sources]).classpath.split(":")[1]).parent, lock)
    java_program([CLIENT, LOGGING], [sources], name="client@1.1.0", lock=lock)
    lock.write_text("".join(f"{'0' * 64}  {name}\n" for name in jars.sums_in(lock)))
    with raises_code(EnvironmentProblem, "fetched-not-pinned", first=coded("entry-altered")):
        java_program([CLIENT, LOGGING], [sources], name="client@1.1.0", lock=lock)
    lock.write_text("")
    with raises_code(EnvironmentProblem, "fetched-not-pinned", first=coded("entry-surplus")):
        java_program([CLIENT, LOGGING], [sources], name="client@1.1.0", lock=lock)


def test_a_failed_compilation_names_the_cause_and_leaves_nothing(machine, calls, sources):
    has_java(machine, compile=f"printf %s '{BROKEN}' >&2; exit 1")
    with raises_code(EnvironmentProblem, "build-failed", cause="The import gone is missing"):
        java_program([CLIENT], [sources])
    assert [path for path in (machine.cache / "installed" / "java").iterdir() if path.is_dir()] == []


def test_an_altered_compiler_is_not_started(machine, calls, sources):
    has_java(machine)
    java_program([CLIENT], [sources])
    (machine.cache / "installed" / "ecj" / ECJ[2] / f"ecj-{ECJ[2]}.jar").write_text("another")
    calls.unlink()
    with raises_code(EnvironmentProblem, "installation-damaged", first=coded("size-changed")):
        java_program([LOGGING], [sources])
    assert "-jar" not in calls.read_text()


def test_a_missing_java_is_an_environment_problem(machine, sources):
    with raises_code(EnvironmentProblem, "java-missing", needed=17) as caught:
        java_program([CLIENT], [sources])
    assert caught.value.hint
    assert not (machine.cache / "installed" / "java").exists()


@pytest.fixture
def no_ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))


def a_jgo_that(does: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace jgo's Python by a shell script, whose fourth argument is its folder."""
    script = tmp_path / "jgo-python"
    script.write_text(f"#!/bin/sh\n{does}\n")
    script.chmod(0o755)
    # The real environment is fetched by uv, and tests have no network.
    monkeypatch.setattr(jgo, "pinned_env", lambda name, pins: script)


def test_an_ivy_with_another_hash_is_refused(no_ivy, tmp_path, monkeypatch):
    a_jgo_that(
        'mkdir "$4/a"; for j in ivy-2.5.3 commons-cli-1.9.0; do echo > "$4/a/$j.jar"; done',
        tmp_path,
        monkeypatch,
    )
    first = coded("entry-altered", name="commons-cli-1.9.0.jar")
    with raises_code(EnvironmentProblem, "fetched-not-pinned", what="Ivy 2.5.3", first=first):
        jars.ivy_classpath()
    assert not (tmp_path / "cache/installed/ivy/2.5.3").exists()


@pytest.mark.parametrize(
    ("does", "said", "hint"),
    [
        ("echo ConnectionError >&2; exit 1", r"\(ConnectionError\)$", None),
        ("echo SSLError >&2; exit 1", r"\(SSLError\)$", "REQUESTS_CA_BUNDLE"),
        ("exit 1", r"\(it said nothing\)$", None),
    ],
)
def test_a_failed_fetch_of_ivy_names_the_cause(no_ivy, tmp_path, monkeypatch, does, said, hint):
    a_jgo_that(does, tmp_path, monkeypatch)
    with raises_code(EnvironmentProblem, "fetch-failed", what="Ivy 2.5.3", cause=re.compile(said)) as caught:
        jars.ivy_classpath()
    assert (hint is None) == (caught.value.hint is None) and (hint or "") in (caught.value.hint or "")


@pytest.mark.long("installs a program")
def test_the_pinned_ivy_is_fetched(no_ivy):
    fetched = [Path(jar) for jar in jars.ivy_classpath().split(":")]
    assert [jar.name for jar in fetched] == ["commons-cli-1.9.0.jar", "ivy-2.5.3.jar"]
    assert sorted(fetched[0].parent.iterdir()) == fetched


def test_the_compiler_is_pinned():
    _, name, revision = java_programs.ECJ
    assert jars.read_sums(f"{name}-{revision}").keys() == {f"{name}-{revision}.jar"}
