"""A block of ports belongs to one run at a time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.system.port_allocator import FIRST, GRANULE, LAST, PortsExhausted, port_block
from testkit.codes import raises_code

HOLDER = """
import sys
from harness.system.port_allocator import port_block
with port_block(40, first=31_008) as ports:
    print(ports.start, flush=True)
    sys.stdin.read()
"""


@given(counts=st.lists(st.integers(1, 3 * GRANULE), max_size=5))
@settings(deadline=None)
def test_blocks_are_complete_and_disjoint(counts: list[int]) -> None:
    with ExitStack() as held:
        blocks = [held.enter_context(port_block(count)) for count in counts]
        ports = [port for block in blocks for port in block]
    assert [len(block) for block in blocks] == counts
    assert len(ports) == len(set(ports))
    assert all(FIRST <= port <= LAST for port in ports)


def test_a_block_with_a_port_in_use_is_skipped() -> None:
    with socket.socket() as other:
        with port_block(3) as before:
            other.bind(("127.0.0.1", before[1]))
        with port_block(3, first=before.start) as after:
            assert before[1] not in after
            assert after.start > before.start


def test_a_block_of_another_process_is_reserved_until_it_ends() -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    try:
        assert holder.stdout is not None
        start = int(holder.stdout.readline())
        with port_block(40, first=start) as ports:
            assert ports.start >= start + 40
    finally:
        holder.kill()
        holder.communicate()
    with port_block(40, start, start + 2 * GRANULE - 1) as ports:
        assert ports.start == start


def test_a_block_is_released_after_an_error() -> None:
    high = 32_000  # other processes may search from the start meanwhile
    with pytest.raises(RuntimeError), port_block(1, high) as first:
        raise RuntimeError
    with port_block(1, high) as second:
        assert first == second


def test_exhausted_ports_are_an_error() -> None:
    with (
        raises_code(PortsExhausted, "ports-exhausted", count=GRANULE + 1),
        port_block(GRANULE + 1, FIRST, FIRST + GRANULE - 1),
    ):
        pass
