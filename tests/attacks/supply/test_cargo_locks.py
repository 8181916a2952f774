"""A Cargo.lock without a registry address pins what is built, whatever the cargo settings of the user are."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem
from harness.provision.cargo_programs import LOCK, built, write_lock
from testkit.codes import raises_code

pytestmark = pytest.mark.long("builds with cargo")


def test_crate_with_another_checksum_is_refused(cache: Path, tmp_path: Path, crates: Any) -> None:
    with raises_code(EnvironmentProblem, "build-failed", named="tiny 1.0.0"):
        built(crates.program(tmp_path / "sources", "0" * 64))


def test_lock_is_written_and_used_with_a_mirror(cache: Path, tmp_path: Path, crates: Any) -> None:
    program = crates.program(tmp_path / "sources", "nothing yet")
    write_lock(program, tmp_path)
    text = (tmp_path / LOCK).read_text()
    assert f'source = "registry"\nchecksum = "{crates.checksum}"\n' in text
    assert "://" not in text
    assert built(dataclasses.replace(program, lock=tmp_path / LOCK)).exists()


def test_default_registry_of_the_user_is_not_used_for_the_lock(
    cache: Path, tmp_path: Path, crates: Any
) -> None:
    own = '[registry]\ndefault = "own"\n[registries.own]\nindex = "sparse+http://127.0.0.1:1/"\n'
    crates.settings.write_text(crates.settings.read_text() + own)
    assert built(crates.program(tmp_path / "sources", crates.checksum)).exists()


@pytest.mark.parametrize("left_out", ["source", "checksum"])
def test_incomplete_lock_is_refused(cache: Path, tmp_path: Path, crates: Any, left_out: str) -> None:
    program = crates.program(tmp_path / "sources", crates.checksum)
    lines = program.lock.read_text().splitlines(keepends=True)
    program.lock.write_text("".join(line for line in lines if not line.startswith(left_out)))
    with raises_code(EnvironmentProblem, "build-failed", named="tiny 1.0.0"):
        built(program)
