"""Witness and capture: a contradiction between them is a harness error and never counts against the client."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from msgspec import structs

from harness.judging.judge import judge
from harness.model.evidence import Evidence
from harness.model.rows import CaptureRecord, TrialVerdict
from harness.model.tcp_facts import By, TcpFact, What
from tests.harness.judging.one_record import connection, evidence, saying, scenario


def captured(
    given: Evidence, *, told: Iterable[int], seen: Iterable[int], capture: CaptureRecord | None = None
) -> Evidence:
    """Return evidence of one connection: the requests in ``told`` by the witness, those in ``seen`` by the capture."""
    told, seen = tuple(told), tuple(seen)
    frames = connection(told)
    tcp = (
        TcpFact(1, 1, 40_001, What.SYN, By.CLIENT, 1),
        TcpFact(2, 1, 40_001, What.SYN, By.PROXY, 1),
        *(TcpFact(9 + n, 1, 40_001, What.FRAME, By.CLIENT, 1, n, 300) for n in seen),
        TcpFact(80, 1, 40_001, What.FIN, By.CLIENT, 1),
        TcpFact(81, 1, 40_001, What.FIN, By.PROXY, 1),
    )
    capture = capture or CaptureRecord(packets=9, frames=len(seen))
    log = given.log if told else ()
    record = structs.replace(given.record, capture=capture)
    return replace(given, record=record, frames=frames, tcp=tcp, log=log)


def without_capture(given: Evidence) -> TrialVerdict:
    """The verdict on what the witness told alone, which is a pass."""
    alone = replace(given, record=structs.replace(given.record, capture=None), tcp=())
    verdict = judge(alone, scenario(), {"c": saying([])})
    assert verdict.verdict == "pass"
    return verdict


@pytest.mark.parametrize(
    ("told", "seen", "by", "n"),
    [((1, 3), (1, 2, 3), "capture", 2), ((1, 2, 3), (1, 3), "witness", 2), ((), (1, 2, 3), "capture", 1)],
)
def test_a_frame_of_only_one_observer_is_a_harness_error(told, seen, by, n):
    verdict = judge(captured(evidence(()), told=told, seen=seen), scenario(), {"c": saying([])})

    assert verdict.verdict == "harness-error"
    assert verdict.reason.startswith(
        f"witness and capture disagree: only the {by} has the request with correlation id {n} (300 bytes; port"
    )
    assert verdict.reason.endswith(", and 2 more") == (not told)


@pytest.mark.parametrize(
    "capture",
    [
        CaptureRecord(unavailable_reason="no right"),
        CaptureRecord(packets=9, frames=3, dropped=1),
        CaptureRecord(packets=9, frames=3, cut=1),
        CaptureRecord(packets=9, frames=3, unread=1),
        CaptureRecord(packets=9),
    ],
)
def test_an_incomplete_capture_is_not_compared(capture):
    accused = captured(evidence(), told=(1, 3), seen=(1, 2, 3), capture=capture)
    assert judge(accused, scenario(), {"c": saying([])}) == without_capture(accused)


def test_observers_that_agree_change_nothing():
    agreed = captured(evidence(), told=(1, 2, 3), seen=(1, 2, 3))
    assert judge(agreed, scenario(), {"c": saying([])}) == without_capture(agreed)
