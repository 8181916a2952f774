"""ConsumerDriver: waits that a wakeup or Ctrl-C ends. Core and selector are played by the tests."""

from __future__ import annotations

from typing import Any

import pytest

from clients.reference.consumer.calls import Wait
from clients.reference.transport.consumer_driver import ConsumerDriver


class Core:
    """A core whose rounds bring nothing."""

    progress = 0
    has_unsent = False

    def __init__(self) -> None:
        self.rounds = 0
        self.in_round: Any = lambda: None

    def at(self, now_ms: int) -> None:
        pass

    def run_once(self, now_ms: int) -> int | None:
        self.rounds += 1
        self.in_round()
        return None


class Selector:
    """``waits`` are the timeouts that were waited for. A wakeup is forgotten at once, as if a round had taken it."""

    def __init__(self) -> None:
        self.waits: list[float | None] = []
        self.interrupts = 0

    def wait_for_news(self, timeout_s: float | None) -> None:
        self.waits.append(timeout_s)
        if self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt

    def wakeup(self) -> None:
        pass


@pytest.fixture
def driver() -> Any:
    core, selector = Core(), Selector()
    made: Any = ConsumerDriver("me", core, selector, 100)  # type: ignore[arg-type]
    return made


def waits(count, ended):
    try:
        for _ in range(count):
            yield Wait(None)
    finally:
        ended.append(True)


def test_a_wakeup_in_the_round_before_a_wait_ends_the_wait(driver):
    """CSM-WKP-01: the round takes the selector's wakeup, which is therefore not there when the wait begins."""
    core, selector = driver._core, driver._selector
    core.in_round = lambda: driver.wake() if core.rounds == 1 else None
    driver.run_call(waits(1, []))
    assert selector.waits == []
    driver.run_call(waits(1, []))
    assert len(selector.waits) == 1


def test_ctrl_c_during_a_wait_is_raised_in_the_call(driver):
    """The call ends in order, waits included, and not when the garbage collector finds it."""
    driver._selector.interrupts, ended, after = 1, [], []

    def call():
        try:
            yield from waits(3, ended)
        finally:
            yield from waits(2, after)

    suspended = call()
    with pytest.raises(KeyboardInterrupt):
        driver.run_call(suspended)
    assert ended and after and suspended.gi_frame is None
    assert len(driver._selector.waits) == 3
