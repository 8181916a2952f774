"""The observers of a trial: what all processes of its client write to stderr and to its folder counts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.limits.meter import DEPTH, FILES, LOG_BYTES, MIB, Limit, Meter, OverLimit
from harness.running import observation as observing
from harness.running.observation import Observation
from testkit.codes import raises_code


def observation(folder: Path) -> Observation:
    """Return the observation of a trial in which all is well but, perhaps, the logs."""
    fine: Any = SimpleNamespace(died=lambda: None, failure=None, beats=True, stepped_ns=0)
    return Observation(folder, folder / "client", fine, fine, fine, Meter("flooding", 1))


@pytest.mark.parametrize("names", [["client.log"], ["client-m2.log"], ["client.log", "client-p2.log"]])
def test_a_client_whose_processes_flood_stderr_is_stopped(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        with (tmp_path / name).open("wb") as log:
            log.truncate(LOG_BYTES.base // len(names) + 1)
    with pytest.raises(OverLimit, match="stderr"):
        asyncio.run(observation(tmp_path).during(asyncio.Event().wait()))


def test_a_client_with_too_many_files_is_stopped(tmp_path: Path) -> None:
    for number in range(FILES.base // 100 + 1):
        (tmp_path / "client" / str(number)).mkdir(parents=True)
        for name in range(99):
            (tmp_path / "client" / str(number) / str(name)).touch()
    with raises_code(OverLimit, "over-limit", what=FILES.what, most=FILES.base, amount=FILES.base + 1):
        asyncio.run(observation(tmp_path).during(asyncio.Event().wait()))


def test_a_client_with_too_many_levels_of_folders_is_stopped(tmp_path: Path) -> None:
    tmp_path.joinpath("client", *["x"] * (DEPTH.base + 1)).mkdir(parents=True)
    with raises_code(OverLimit, "over-limit", what=DEPTH.what, most=DEPTH.base, amount=DEPTH.base + 1):
        asyncio.run(observation(tmp_path).during(asyncio.Event().wait()))


def test_a_client_that_fills_the_disk_with_several_files_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observing, "DISK_BYTES", Limit("disk", "", MIB))
    (tmp_path / "client").mkdir()
    for name in "abc":
        (tmp_path / "client" / name).write_bytes(bytes(MIB // 2))
    with raises_code(OverLimit, "over-limit", most=MIB):
        asyncio.run(observation(tmp_path).during(asyncio.Event().wait()))


def test_a_client_within_the_limit_continues(tmp_path: Path) -> None:
    for name in ("client-m1.log", "client-m1-2.log"):
        (tmp_path / name).write_bytes(b"x" * 1_000)

    async def work() -> str:
        return "done"

    assert asyncio.run(observation(tmp_path).during(work())) == "done"
