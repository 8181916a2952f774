"""A cache in a folder that other users can write to is refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.model.errors import EnvironmentProblem
from harness.provision.caches import installations, installed
from testkit.codes import raises_code

THEIRS, OURS = 54_321, 12_345


def build(folder: Path) -> None:
    (folder / "thing").touch()


def refused() -> EnvironmentProblem:
    with raises_code(EnvironmentProblem, "cache-writable-by-others") as caught:
        installed("kind", "name", build)
    return caught.value


def test_world_writable_cache_is_refused(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    assert refused().hint == f"chmod go-w {cache}"
    assert not (installations() / "kind").exists()
    cache.chmod(0o755)
    installed("kind", "name", build)
    installations().chmod(0o777)
    refused()


def test_cache_in_a_sticky_folder_is_accepted(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o1777)
    installed("kind", "name", build)
    assert stat.S_IMODE(installations().stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a folder")
def test_cache_of_another_user_is_refused(cache: Path, user_is: Callable[[int], None]) -> None:
    place = installed("kind", "name", build)
    (place / "thing").unlink()
    os.chown(installations(), THEIRS, THEIRS)
    user_is(OURS)  # root is trusted by every check
    assert refused().hint == "set KAFKA_TRIAL_CACHE to a folder of your own"
