"""A conversation between a client and a broker's proxy, in packets that scapy builds."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from harness.capture.connections import CapturedConnection, follow
from harness.capture.packets import Segment, segment
from harness.capture.pcapng import Writer
from harness.capture.tap import Packet, lacking

PROXY = 20_011
BROKER = 7
AHEAD_NS = 1_700_000_000_000_000_000


def request(
    correlation_id: int, body: bytes = b"", client_id: bytes | None = b"p1", api_key: int = 0
) -> bytes:
    name = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    return sized(struct.pack(">hhi", api_key, 9, correlation_id) + name + body)


def response(correlation_id: int, body: bytes = b"") -> bytes:
    return sized(struct.pack(">i", correlation_id) + body)


def sized(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


class Talk:
    """One client's port; ``packets`` are the packets to be captured, a microsecond apart."""

    def __init__(
        self, client_port: int = 40_001, seq: int = 2**32 - 20, packets: list[bytes] | None = None
    ) -> None:
        self.client_port = client_port
        self.seq = {True: seq, False: 5_000}
        self.packets = [] if packets is None else packets

    def send(
        self, flags: str, payload: bytes = b"", *, client: bool, seq: int | None = None, window: int = 500
    ) -> int:
        """Send one segment and return its sequence number, with which it can be sent again."""
        ports = (self.client_port, PROXY) if client else (PROXY, self.client_port)
        at = self.seq[client] if seq is None else seq
        tcp = TCP(
            sport=ports[0], dport=ports[1], seq=at, ack=self.seq[not client], flags=flags, window=window,
            options=[("NOP", None), ("NOP", None), ("Timestamp", (1, 2))],
        )  # fmt: skip
        self.packets.append(bytes(Ether() / IP(src="127.0.0.1", dst="127.0.0.1") / tcp / payload))
        if seq is None:
            self.seq[client] = (at + len(payload) + ("S" in flags or "F" in flags)) % 2**32
        return at

    def open(self) -> Talk:
        self.send("S", client=True)
        self.send("SA", client=False)
        self.send("A", client=True)
        return self

    def ask(self, *frames: bytes) -> int:
        return self.send("PA", b"".join(frames), client=True)

    def answer(self, *frames: bytes) -> int:
        return self.send("PA", b"".join(frames), client=False)

    def close(self, *, by_client: bool = True) -> Talk:
        self.send("FA", client=by_client)
        self.send("FA", client=not by_client)
        self.send("A", client=by_client)
        return self

    @property
    def segments(self) -> list[Segment]:
        read = [segment(1_000 * at, data) for at, data in enumerate(self.packets)]
        return [one for one in read if one is not None]

    @property
    def connections(self) -> list[CapturedConnection]:
        return follow(self.segments, {PROXY: BROKER})

    def write(self, path: Path) -> None:
        """Write the packets as a capture, with a wall clock that is ``AHEAD_NS`` ahead."""
        with path.open("wb") as file:
            writer = Writer(file, {PROXY: BROKER}, AHEAD_NS, AHEAD_NS)
            for at, data in enumerate(self.packets):
                writer.packet(Packet(AHEAD_NS + 1_000 * at, data, len(data)))
            writer.end(AHEAD_NS + 10**9, AHEAD_NS, len(self.packets), 0)


@pytest.fixture
def talk() -> Callable[..., Talk]:
    return Talk


@pytest.fixture
def asked() -> Callable[..., bytes]:
    return request


@pytest.fixture
def answered() -> Callable[..., bytes]:
    return response


#: Drops the capability for good, then executes the real interpreter.
WITHOUT_RIGHT = """#!{python}
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_NET_RAW = 24, 13
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_NET_RAW, 0, 0, 0)
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


@pytest.fixture
def without_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start child interpreters without the right to capture."""
    launcher = tmp_path / "python"
    launcher.write_text(WITHOUT_RIGHT.format(python=sys.executable))
    launcher.chmod(0o755)
    if lacking() is None:
        # The observer starts this interpreter, and only a process can give up the right for itself.
        monkeypatch.setattr(sys, "executable", str(launcher))


@pytest.fixture
def may_capture() -> None:
    if why := lacking():
        pytest.skip(why)
