"""Compressed rows that are too large, truncated or forged are refused with one error, in bounded memory."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import pytest
import zstandard

from harness.files import zstd
from harness.files.row_files import read_rows
from harness.model.errors import UsageError
from harness.model.rows import LogRecord
from testkit.codes import coded, raises_code

GIB = 2**30
MAGIC = zstandard.FRAME_HEADER


def huge(size: int) -> bytes:
    """Return a valid frame that unpacks to ``size`` spaces, made of run-length blocks."""
    most = 2**17
    header = MAGIC + b"\xc0\x58" + struct.pack("<Q", size)  # an eight-byte length, a window of 2 MiB
    block = struct.pack("<I", most << 3 | 1 << 1)[:3] + b" "
    last = struct.pack("<I", most << 3 | 1 << 1 | 1)[:3] + b" "
    return header + block * (size // most - 1) + last


def claims(size: int) -> bytes:
    """Return an empty frame whose header claims ``size`` bytes."""
    return MAGIC + b"\xc0\x58" + struct.pack("<Q", size) + b"\x01\x00\x00"


#: A frame of one byte with a window of half a gigabyte.
WIDE = MAGIC + b"\x00\x98" + b"\x09\x00\x00 "
SKIPPED = b"\x50\x2a\x4d\x18" + struct.pack("<I", 3) + b"abc"

ATTACKS = {
    "a frame of 4 GiB": (huge(4 * GIB), coded("frame-too-large", size=4 * GIB)),
    "one that claims an exabyte": (claims(2**60), coded("frame-too-large", size=2**60)),
    "one that claims what may be": (claims(2**26), coded("frame-damaged")),
    "a window of half a gigabyte": (WIDE, coded("frame-damaged")),
    "a frame to be skipped": (SKIPPED, coded("frame-damaged")),
    "an empty one, and rows behind it": (zstd.packed(b"") + zstd.packed(b"{}\n"), coded("frame-damaged")),
    "one that says it is empty": (
        huge(2**20).replace(struct.pack("<Q", 2**20), bytes(8)),
        coded("frame-damaged"),
    ),
    "two frames": (zstd.packed(b"") * 2, coded("frame-damaged")),
    "the half of one": (zstd.packed(b"{}" * 999)[:-9], coded("frame-damaged")),
    "nothing": (b"", coded("frame-damaged")),
    "plain rows": (b"{}\n", coded("frame-damaged")),
    "no rows in it": (zstd.packed(b"\xff\xfe"), re.compile("malformed")),
    "depth": (zstd.packed(b"[" * 1_000_000), re.compile("recursion|JSON|array")),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_invalid_rows_are_refused_in_one_sentence(attack: str, tmp_path: Path) -> None:
    content, why = ATTACKS[attack]
    (tmp_path / "log.jsonl.zst").write_bytes(content)
    (tmp_path / "log.jsonl").write_bytes(b"")
    with raises_code(UsageError, "cannot-read", path=tmp_path / "log.jsonl.zst", why=why) as refused:
        read_rows(tmp_path / "log.jsonl", LogRecord)
    assert "\n" not in str(refused.value)


def test_compression_bomb_is_valid() -> None:
    """Otherwise the test above would not test large frames."""
    assert zstd.unpacked(huge(2**20)) == b" " * 2**20
    assert zstandard.get_frame_parameters(huge(4 * GIB)).content_size == 4 * GIB


def test_pipe_in_place_of_rows_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log.jsonl.zst")
    with raises_code(UsageError, "cannot-read", why="it is a pipe, not a regular file"):
        read_rows(tmp_path / "log.jsonl", LogRecord)
