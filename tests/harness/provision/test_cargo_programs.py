"""A Rust program, built by the machine's cargo, which is a shell script here."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem, UsageError
from harness.provision.cargo import find_cargo
from harness.provision.cargo_programs import CargoProgram, built, published, write_lock
from testkit.codes import raises_code

LISTED = ("0.9.0", "1.0.0", "1.2.0", "0.10.0")
NO_NETWORK = "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname"

#: The metadata of our package and of the crate: the source of each dependency, and the required bundle.
METADATA = {
    "packages": [
        {
            "name": "verifiable-tiny",
            "dependencies": [{"name": "tiny", "source": "registry+somewhere", "req": "*"}],
        },
        {
            "name": "tiny",
            "dependencies": [{"name": "tiny-sys", "source": "registry+somewhere", "req": "^4.7.0"}],
        },
    ]
}
LOCKED = '[[package]]\nname = "tiny"\nversion = "1.0.0"\nsource = "{}"\nchecksum = "00"\n'

#: A cargo that records each command, and has a registry with the versions LISTED.
CARGO = """
manifest=$3
echo "$1 $4 $5 $6 $7" >> "CALLS"
case "$1 $7" in
    "update 1.0.0" | "update 4.7.0") echo version > "$(dirname "$manifest")/Cargo.lock" ;;
    update*) echo 'error: no matching package' >&2; exit 101 ;;
    metadata*) echo 'METADATA' ;;
    build*)
        cp "$(dirname "$4")/Cargo.lock" "CALLS.lock"
        while [ "$1" != --target-dir ]; do shift; done
        mkdir -p "$2/debug"
        echo 'a program' > "$2/debug/verifiable-tiny" ;;
    generate-lockfile*)
        kept="$CARGO_HOME/registry/index/somewhere/.cache/ti/ny"
        mkdir -p "$kept"
        for version in LISTED; do printf '\\2\\0%s\\0{"vers": "%s"}\\0' $version $version; done > "$kept/tiny" ;;
esac
"""


@pytest.fixture
def cargo(machine: Any) -> Any:
    """A machine with a cargo and the tools that it calls; ``calls(machine)`` are its recorded commands."""
    machine.has("cargo", cargo_script(machine, " ".join(LISTED)))
    machine.has("rustc", "echo rustc 1.95.0; echo release: 1.95.0")
    for tool in ("cc", "c++", "make"):
        machine.has(tool, f"echo {tool} 12.2.0")
    return machine


def cargo_script(machine: Any, listed: str) -> str:
    script = CARGO.replace("LISTED", listed).replace("METADATA", json.dumps(METADATA))
    return script.replace("CALLS", str(machine.cache.parent / "calls"))


def calls(machine: Any) -> list[str]:
    told = machine.cache.parent / "calls"
    return told.read_text().splitlines() if told.exists() else []


@pytest.fixture
def tiny(tmp_path: Path) -> CargoProgram:
    """Sources of a program for the crate ``tiny``, which bundles a C library in ``tiny-sys``."""
    root = tmp_path / "sources"
    for name in (
        "tiny/Cargo.toml",
        "tiny/src/main.rs",
        "lib/Cargo.toml",
        "lib/src/lib.rs",
        "tiny/__init__.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"this is {name}")
    return CargoProgram("tiny", "1.0.0", root, "tiny", ("lib",), "tiny-sys")


def test_only_rust_sources_are_used(tiny: CargoProgram) -> None:
    assert sorted(tiny.files()) == ["lib/Cargo.toml", "lib/src/lib.rs", "tiny/Cargo.toml", "tiny/src/main.rs"]


def test_a_program_is_built_once_and_only_the_binary_is_kept(cargo: Any, tiny: CargoProgram) -> None:
    binary = built(tiny)
    assert binary.read_text() == "a program\n"
    assert [path.name for path in binary.parent.iterdir()] == ["verifiable-tiny"]
    before = calls(cargo)
    assert built(tiny) == binary
    assert calls(cargo) == before


def test_the_bundle_is_the_oldest_that_the_crate_requires(cargo: Any, tiny: CargoProgram) -> None:
    built(tiny)
    pins = [call for call in calls(cargo) if call.startswith("update")]
    assert pins == ["update --package tiny --precise 1.0.0", "update --package tiny-sys --precise 4.7.0"]


def test_a_crate_without_a_bundle_is_pinned_alone(cargo: Any, tiny: CargoProgram) -> None:
    built(CargoProgram("tiny", "1.0.0", tiny.root, "tiny", ("lib",)))
    assert [call.split()[0] for call in calls(cargo)] == ["update", "build"]


def test_the_registry_is_inserted_into_a_committed_lock(cargo: Any, tiny: CargoProgram) -> None:
    lock = tiny.root / "committed"
    lock.write_text(LOCKED.format("registry"))
    built(dataclasses.replace(tiny, lock=lock))
    assert (cargo.cache.parent / "calls.lock").read_text() == LOCKED.format("registry+somewhere")
    assert [call.split()[0] for call in calls(cargo)] == ["metadata", "build"]


def test_a_lock_is_written_without_the_registry(cargo: Any, tiny: CargoProgram, tmp_path: Path) -> None:
    made = LOCKED.format("registry+somewhere")
    cargo.has("cargo", cargo_script(cargo, "1.0.0").replace("echo version >", f"echo '{made}' >"))
    write_lock(tiny, tmp_path)
    assert (tmp_path / "Cargo.lock").read_text().strip() == LOCKED.format("registry").strip()


def test_other_sources_or_compilers_give_another_program(cargo: Any, tiny: CargoProgram) -> None:
    first = built(tiny)
    (tiny.root / "lib" / "src" / "lib.rs").write_text("this is another")
    second = built(tiny)
    cargo.has("cc", "echo cc 13.0.0")
    third = built(tiny)
    cargo.has("rustc", "echo rustc 1.96.0; echo release: 1.96.0")
    assert len({first, second, third, built(tiny)}) == 4


def test_an_unknown_version_is_a_usage_error_with_the_newest(cargo: Any, tiny: CargoProgram) -> None:
    with raises_code(
        UsageError, "unknown-client-version", named="tiny 7.0.0", package="tiny", newest="1.2.0"
    ):
        built(CargoProgram("tiny", "7.0.0", tiny.root, "tiny", ("lib",)))
    assert [path for path in (cargo.cache / "installed" / "rust").iterdir() if path.is_dir()] == []


def test_a_missing_network_is_an_environment_problem(cargo: Any, tiny: CargoProgram) -> None:
    cargo.has("cargo", f"echo '{NO_NETWORK}' >&2; echo 'Caused by: much' >&2; exit 101")
    with raises_code(
        EnvironmentProblem, "build-failed", named="tiny 1.0.0", cause="[6] Could not resolve hostname"
    ):
        built(tiny)
    with raises_code(EnvironmentProblem, "versions-not-listed", crate="tiny"):
        published("tiny")


def test_a_failed_build_is_an_environment_problem(cargo: Any, tiny: CargoProgram) -> None:
    said = "error[E0432]: unresolved import `tiny::Producer`"
    refuses = f'[ "$1" = build ] && {{ echo "Compiling tiny" >&2; echo "{said}" >&2; exit 101; }}'
    cargo.has("cargo", f"{refuses.replace('`', '')}\n{cargo_script(cargo, '1.0.0')}")
    with raises_code(EnvironmentProblem, "build-failed"):
        built(tiny)


def test_versions_are_listed_oldest_first(cargo: Any) -> None:
    assert published("tiny") == ["0.9.0", "0.10.0", "1.0.0", "1.2.0"]


def test_the_registry_is_queried_with_the_users_settings(cargo: Any) -> None:
    settings = cargo.cache.parent / "cargo" / "config.toml"
    settings.parent.mkdir()
    settings.write_text("[net]")
    seen = cargo.cache.parent / "seen"
    cargo.has("cargo", f'cat "$CARGO_HOME/config.toml" > {seen}\n{cargo_script(cargo, "1.0.0")}')
    published("tiny")
    assert seen.read_text() == "[net]"


def test_an_unreadable_list_of_versions_is_an_error(cargo: Any) -> None:
    cargo.has("cargo", "exit 0")
    with raises_code(EnvironmentProblem, "versions-unreadable"):
        published("tiny")


@pytest.mark.parametrize("tool", ["cargo", "rustc", "cc", "c++", "make"])
def test_a_missing_tool_is_named(cargo: Any, tool: str) -> None:
    (cargo.bin / tool).unlink()
    with raises_code(EnvironmentProblem, "tool-missing", missing=(tool,)) as caught:
        find_cargo()
    assert caught.value.hint is not None and "Rust 1.85" in caught.value.hint


@pytest.mark.parametrize(
    ("debian", "packages"), [("0.66.0+ds1-1", "cargo-web g++"), ("1.85.0+dfsg3-1", "cargo g++")]
)
def test_the_hint_on_debian_is_one_command(cargo: Any, debian: str, packages: str) -> None:
    cargo.has("apt-get", "exit 0")
    cargo.has("apt-cache", f"echo Package: cargo; echo Version: {debian}")
    for tool in ("cargo", "rustc", "c++"):
        (cargo.bin / tool).unlink()
    with pytest.raises(EnvironmentProblem) as caught:
        find_cargo()
    assert str(caught.value.hint).endswith(f"apt-get install -y {packages}")


def test_a_rust_that_is_too_old_is_reported(cargo: Any) -> None:
    cargo.has("rustc", "echo rustc 1.63.0; echo release: 1.63.0")
    with raises_code(
        EnvironmentProblem, "tool-too-old", needed="1.85", rustc=re.compile(r"rustc$"), found="1.63"
    ):
        find_cargo()


def test_a_rustup_without_a_toolchain_is_reported(cargo: Any) -> None:
    cargo.has("rustc", "echo 'error: rustup could not choose a version of rustc to run' >&2; exit 1")
    with raises_code(EnvironmentProblem, "tool-broken") as caught:
        find_cargo()
    assert caught.value.hint == "rustup default stable"


def test_a_cargo_installed_by_rustup_is_found(cargo: Any) -> None:
    there = cargo.cache.parent / "cargo" / "bin"
    there.mkdir(parents=True)
    for tool in ("cargo", "rustc"):
        (cargo.bin / tool).rename(there / tool)
    assert find_cargo().path == there / "cargo"
