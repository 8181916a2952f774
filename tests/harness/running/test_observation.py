"""The observers of a trial: what all processes of its client write to stderr counts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.limits.meter import LOG_BYTES, Meter, OverLimit
from harness.running.observation import Observation


def observation(folder: Path) -> Observation:
    """Return the observation of a trial in which all is well but, perhaps, the logs."""
    fine: Any = SimpleNamespace(died=lambda: None, failure=None, beats=True, stepped_ns=0)
    return Observation(folder, fine, fine, fine, Meter("flooding", 1))


@pytest.mark.parametrize("names", [["client.log"], ["client-m2.log"], ["client.log", "client-p2.log"]])
def test_a_client_whose_processes_flood_stderr_is_stopped(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        with (tmp_path / name).open("wb") as log:
            log.truncate(LOG_BYTES.base // len(names) + 1)
    with pytest.raises(OverLimit, match="stderr"):
        asyncio.run(observation(tmp_path).during(asyncio.Event().wait()))


def test_a_client_within_the_limit_continues(tmp_path: Path) -> None:
    for name in ("client-m1.log", "client-m1-2.log"):
        (tmp_path / name).write_bytes(b"x" * 1_000)

    async def work() -> str:
        return "done"

    assert asyncio.run(observation(tmp_path).during(work())) == "done"
