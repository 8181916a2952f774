"""Kafka for scapy: the headers of requests and responses, without their bodies. For notebooks.

``bind(9092)`` makes scapy show them in packets of that port, for frames that start with a segment. The later segments
of a frame are shown as bytes. :func:`dissected` reassembles the bytes first, so that every frame of a capture is
whole::

    for t_ns, port, frame in dissected("runs/latest/.../capture.pcapng"):
        frame.show()

It needs the extra ``capture``, which brings scapy. Capturing, and judging what was captured, does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from harness.capture.connections import connections
from harness.capture.pcapng import read
from harness.system import extras

with extras.needed("capture", __name__):
    from scapy.fields import FieldLenField, SignedIntField, SignedShortField, StrLenField
    from scapy.layers.inet import TCP
    from scapy.packet import Packet, bind_layers, split_layers


class _Framed(Packet):
    """A frame. Several may share a segment: the payload of the first is the next one."""

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        return type(self)


class KafkaRequest(_Framed):
    """Size, API key, version, correlation id, client id (of size -1 if there is none), and the undecoded body."""

    name = "Kafka request"
    fields_desc: ClassVar[list[Any]] = [
        FieldLenField("size", None, fmt="i", length_of="body", adjust=lambda p, n: n + _head_bytes(p)),
        SignedShortField("api_key", 0),
        SignedShortField("api_version", 0),
        SignedIntField("correlation_id", 0),
        FieldLenField("client_id_size", None, fmt="h", length_of="client_id"),
        StrLenField("client_id", b"", length_from=lambda p: max(0, p.client_id_size)),
        StrLenField("body", b"", length_from=lambda p: max(0, p.size - _head_bytes(p))),
    ]


class KafkaResponse(_Framed):
    """Size, correlation id, and the undecoded body: decoding it requires the request."""

    name = "Kafka response"
    fields_desc: ClassVar[list[Any]] = [
        FieldLenField("size", None, fmt="i", length_of="body", adjust=lambda p, n: n + 4),
        SignedIntField("correlation_id", 0),
        StrLenField("body", b"", length_from=lambda p: max(0, p.size - 4)),
    ]


def _head_bytes(request: Any) -> int:
    return 10 + len(request.client_id)


def bind(*ports: int) -> None:
    """Treat data to these TCP ports as requests, and data from them as responses."""
    for port in ports:
        bind_layers(TCP, KafkaRequest, dport=port)
        bind_layers(TCP, KafkaResponse, sport=port)


def unbind(*ports: int) -> None:
    """Undo :func:`bind`."""
    for port in ports:
        split_layers(TCP, KafkaRequest, dport=port)
        split_layers(TCP, KafkaResponse, sport=port)


def dissected(path: str | Path) -> Iterator[tuple[int, int, KafkaRequest | KafkaResponse]]:
    """Yield every frame of a ``capture.pcapng`` by time: its time (monotonic), its client's port, and the frame."""
    found: list[tuple[int, int, bytes, type[KafkaRequest] | type[KafkaResponse]]] = []
    for one in connections(read(Path(path))):
        found += [(frame.t_ns, one.client_port, frame.data, KafkaRequest) for frame in one.requests]
        found += [(frame.t_ns, one.client_port, frame.data, KafkaResponse) for frame in one.responses]
    for t_ns, port, data, layer in sorted(found, key=lambda frame: frame[:2]):
        yield t_ns, port, layer(data)
