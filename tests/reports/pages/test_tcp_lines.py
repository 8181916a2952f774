"""The capture section of a trial's page: each connection's line, omitted lines, and whether the observers agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.model.rows import CaptureRecord, Frame, FrameKind
from harness.model.tcp_facts import By, TcpFact, What
from reports.pages.tcp_lines import MAX_DISAGREEMENTS, MAX_LINES, tcp_lines, tcp_notes

Stories = Callable[..., Any]
MS = 1_000_000


@pytest.fixture
def captured(story: Stories) -> Any:
    """Two connections: one is refused, the other has a retransmitted request, a response, and a reset."""
    told = story("one")
    begin_ns = told.evidence().record.phases.load_ns

    def row(at_ms: int, conn: int, what: What, by: By, *frame: int) -> TcpFact:
        return TcpFact(begin_ns + at_ms * MS, 1, 40_000 + conn, what, by, conn, *frame)

    told.tcp = [
        row(-2, 1, What.SYN, By.CLIENT),
        row(-1, 1, What.REFUSED, By.PROXY),
        row(5, 2, What.SYN, By.CLIENT),
        row(5, 2, What.SYN, By.PROXY),
        row(6, 2, What.FRAME, By.CLIENT, 7, 312),
        row(7, 2, What.RETRANSMISSION, By.CLIENT),
        row(8, 2, What.FRAME, By.PROXY, 7, 99),
        row(8, 2, What.ZERO_WINDOW, By.PROXY),
        row(9, 2, What.FIN, By.CLIENT),
        row(9, 2, What.RST, By.PROXY),
    ]
    told.frames = [
        Frame(begin_ns, 0, 1, 1, FrameKind.OPEN),
        Frame(begin_ns + 1, 0, 1, 1, FrameKind.REQUEST, 312, correlation_id=7),
        Frame(begin_ns + 2, 0, 1, 1, FrameKind.RESPONSE, 99, correlation_id=7),
        Frame(begin_ns + 3, 0, 1, 1, FrameKind.CLOSE, closed_by="client"),
    ]
    told.capture = CaptureRecord(packets=1_234, frames=2)
    return told


def test_line_says_which_side_ended_it_and_what_failed(captured: Any) -> None:
    refused, reset = tcp_lines(captured.evidence())
    assert (refused.at_ms, refused.ends, refused.frames) == (-2, "refused by proxy at -1.000", (0, 0))
    assert (reset.conn, reset.broker, reset.client_port, reset.frames) == (2, 1, 40_002, (1, 1))
    assert reset.ends == "FIN by client at 9.000, RST by proxy at 9.000"
    assert (reset.retransmissions, reset.zero_windows) == ((1, 0), (0, 1))


def test_agreeing_observers_are_reported(captured: Any) -> None:
    assert tcp_notes(captured.evidence()) == [
        "The capture has 1,234 packets of 2 connections.",
        "The witness recorded the same 2 frames; 0 more differ by a rule of the witness, 0 were under way when their "
        "connection ended.",
    ]


def test_disagreeing_observers_are_quoted(captured: Any) -> None:
    captured.frames += [
        Frame(captured.frames[1].t_ns, 0, 1, 1, FrameKind.REQUEST, 20, correlation_id=100 + n)
        for n in range(MAX_DISAGREEMENTS + 3)
    ]
    _, _, first, *_, last = tcp_notes(captured.evidence())
    assert first.startswith("⚠ only the witness has the request with correlation id 100 (20 bytes; ")
    assert last == "⚠ And 3 more."


def test_omitted_lines_are_counted(captured: Any) -> None:
    captured.tcp = [TcpFact(n, 1, 40_000 + n, What.SYN, By.CLIENT, n) for n in range(MAX_LINES + 1)]
    assert len(tcp_lines(captured.evidence())) == MAX_LINES
    assert f"The first {MAX_LINES} are shown." in tcp_notes(captured.evidence())


@pytest.mark.parametrize(
    ("capture", "said"),
    [
        (CaptureRecord(unavailable_reason="no right"), "There is no capture: no right."),
        (CaptureRecord(packets=9), "older than the rows of its frames"),
        (
            CaptureRecord(packets=9, frames=1, dropped=3),
            "incomplete, so nothing was compared with it: 3 packets",
        ),
    ],
)
def test_capture_that_cannot_be_compared_is_reported(
    captured: Any, capture: CaptureRecord, said: str
) -> None:
    captured.capture = capture
    assert said in tcp_notes(captured.evidence())[-1]


def test_without_a_capture_the_section_is_empty(story: Stories) -> None:
    evidence = story("one").evidence()
    assert (tcp_lines(evidence), tcp_notes(evidence)) == ([], [])
