"""A client that stores more than it was given: ``python stores.py WHAT TOKEN``. WHAT: ``records``, ``bytes``.

It sends one small request whose batch is compressed. Standard library only. ``contract.py`` has the rest of the
contract.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import sys
from typing import Any

import contract

#: More than a trial of 200 records with values of 160 bytes may store.
RECORDS, VALUES, VALUE_BYTES = 40_000, 24, 2**20
GZIP, MAGIC = 1, 2


def varint(number: int) -> bytes:
    """Return a number from 0 on, in zigzag encoding."""
    number <<= 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def record(offset: int, value: bytes) -> bytes:
    no_key, no_headers = b"\x01", b"\x00"
    body = b"\x00\x00" + varint(offset) + no_key + varint(len(value)) + value + no_headers
    return varint(len(body)) + body


def batch(count: int, value: bytes) -> bytes:
    packed = gzip.compress(b"".join(record(offset, value) for offset in range(count)))
    checked = struct.pack(">hiqqqhii", GZIP, count - 1, 0, 0, -1, -1, -1, count) + packed
    body = struct.pack(">ibI", -1, MAGIC, contract.crc32c(checked)) + checked
    return struct.pack(">qi", 0, len(body)) + body


def store(bootstrap: str, topic: bytes, records: bytes) -> None:
    """Send Produce 3 to partition 0, and wait for the response."""
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    request = struct.pack(">hhihhhi", 0, 3, 7, -1, -1, -1, 30_000)
    request += struct.pack(">ih", 1, len(topic)) + topic + struct.pack(">iii", 1, 0, len(records)) + records
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(len(request).to_bytes(4, "big") + request)
        connection.recv(contract.MIB)


def main(what: str) -> None:
    config: dict[str, Any] = {}
    contract.startup()
    for line in sys.stdin:
        command = json.loads(line)
        config |= command.get("config", {})
        if command["cmd"] == "produce" and not command["first"]:
            stored = batch(RECORDS, b"") if what == "records" else batch(VALUES, bytes(VALUE_BYTES))
            store(config["bootstrap.servers"], command["topic"].encode(), stored)
        contract.answer(command)


if __name__ == "__main__":
    main(sys.argv[1])
