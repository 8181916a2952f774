"""The harness's clock is set while a trial runs: that trial is a harness-error, and the next one is not affected."""

from __future__ import annotations

import platform
from pathlib import Path

import libfaketime
import pytest

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.extended,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="libfaketime is built for another processor"),
]

LIBRARY = Path(libfaketime.__file__).parent / "vendor/libfaketime/src/libfaketime.so.1"
HOUR_S = 3_600


class SetClock:
    """A clock that the harness reads. Only root can set the machine's, for all its processes.

    Brokers keep their clock: libfaketime does not run in a JVM.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.env = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_SKIP_CMDS": "java",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.step(0)

    def step(self, by_s: int) -> None:
        """Set it forward or back, in one step."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{by_s:+d}\n")
        new.replace(self._file)


@pytest.mark.parametrize(("by_s", "told"), [(HOUR_S, "forward by 3,600.0"), (-HOUR_S, "back by 3,600.0")])
def test_trial_during_which_the_clock_is_set_is_a_harness_error(planned, tmp_path, by_s, told):
    clock, run = SetClock(tmp_path / "clock"), planned(2)
    run.env |= clock.env
    run.start()
    run.under_load()
    clock.step(by_s)
    code, stderr = run.ended()

    assert code == 3 and told in stderr
    assert run.verdicts() == [("harness-error", "clock-stepped"), ("pass", "held")]
    assert run.has_exports() and run.remaining() == []
