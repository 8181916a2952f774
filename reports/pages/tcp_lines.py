"""The capture's part of a trial page: one line per connection, and the comparison with the witness.

A page shows at most ``MAX_LINES`` connections and says so. The evidence file contains all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.judging.crosscheck import Comparison, crosscheck
from harness.judging.frame_excerpt import origin_ns
from harness.model.evidence import Evidence
from harness.model.rows import CaptureRecord
from harness.model.tcp_facts import By, TcpFact, What
from harness.text.counting import some

MAX_LINES = 100
MAX_DISAGREEMENTS = 8

#: The ends of a connection in words. The first FIN and the first RST of each side have a row.
ENDS = {What.FIN: "FIN", What.RST: "RST", What.REFUSED: "refused"}


@dataclass(frozen=True)
class TcpLine:
    """One connection. Pairs contain the values of the client's side and the proxy's side."""

    conn: int
    broker: int
    client_port: int
    at_ms: float
    frames: tuple[int, int]
    ends: str
    retransmissions: tuple[int, int]
    zero_windows: tuple[int, int]


def tcp_lines(evidence: Evidence) -> list[TcpLine]:
    """Return the connections of the capture in the order of their SYNs, or none if there is no capture."""
    connections: dict[tuple[int, int, int], list[TcpFact]] = {}
    for row in evidence.tcp:
        connections.setdefault((row.conn, row.broker, row.client_port), []).append(row)
    load_ns = origin_ns(evidence)
    return [
        TcpLine(
            *key,
            at_ms=(rows[0].t_ns - load_ns) / 1e6,
            frames=_both(rows, What.FRAME),
            ends=_ends(rows, load_ns),
            retransmissions=_both(rows, What.RETRANSMISSION),
            zero_windows=_both(rows, What.ZERO_WINDOW),
        )
        for key, rows in sorted(connections.items())[:MAX_LINES]
    ]


def tcp_notes(evidence: Evidence) -> list[str]:
    """Return sentences about the capture, or none if no capture was requested."""
    capture = evidence.record.capture
    if capture is None:
        return []
    if capture.unavailable_reason is not None:
        return [f"There is no capture: {capture.unavailable_reason}."]
    connections = len({(row.conn, row.broker, row.client_port) for row in evidence.tcp})
    said = [f"The capture has {some(capture.packets, 'packet')} of {some(connections, 'connection')}."]
    if connections > MAX_LINES:
        said.append(f"The first {MAX_LINES} are shown.")
    comparison = crosscheck(evidence)
    return [*said, *([_doubt(capture)] if comparison is None else _compared(comparison))]


def _doubt(capture: CaptureRecord) -> str:
    if capture.frames is None:
        return "It is older than the rows of its frames: nothing was compared with it."
    return (
        f"It is incomplete, so nothing was compared with it: {some(capture.dropped, 'packet')} "
        f"dropped, {capture.cut:,} cut, {some(capture.unread, 'connection')} unread."
    )


def _compared(comparison: Comparison) -> Sequence[str]:
    explained = (
        f"The witness recorded the same {some(comparison.agreed, 'frame')}; {comparison.ruled:,} more differ by a rule "
        f"of the witness, {comparison.cut_off:,} were under way when their connection ended."
    )
    disagreements = [f"⚠ {one}." for one in comparison.disagreements[:MAX_DISAGREEMENTS]]
    left = len(comparison.disagreements) - len(disagreements)
    return [explained, *disagreements, *([f"⚠ And {left:,} more."] if left else [])]


def _both(rows: Iterable[TcpFact], what: What) -> tuple[int, int]:
    sides = [row.by for row in rows if row.what is what]
    return sides.count(By.CLIENT), sides.count(By.PROXY)


def _ends(rows: Iterable[TcpFact], load_ns: int) -> str:
    return ", ".join(
        f"{ENDS[row.what]} by {row.by} at {(row.t_ns - load_ns) / 1e6:.3f}"
        for row in rows
        if row.what in ENDS
    )
