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

from harness.system import port_allocator
from harness.system.port_allocator import FIRST, GRANULE, LAST, PortsExhausted, port_block
from testkit.codes import raises_code

HOLDER = """
import sys
from harness.system import port_allocator
port_allocator.FIRST = 31_008
with port_allocator.port_block(40) as ports:
    print(ports.start, flush=True)
    sys.stdin.read()
"""


@given(counts=st.lists(st.integers(1, 3 * GRANULE), max_size=5))
@settings(deadline=None)
def test_blocks_are_whole_and_disjoint(counts: list[int]) -> None:
    with ExitStack() as held:
        blocks = [held.enter_context(port_block(count)) for count in counts]
        ports = [port for block in blocks for port in block]
    assert [len(block) for block in blocks] == counts
    assert len(ports) == len(set(ports))
    assert all(FIRST <= port <= LAST for port in ports)


def test_a_port_in_use_rules_its_block_out() -> None:
    with port_block(3) as before, socket.socket() as other:
        other.bind(("127.0.0.1", before[1]))
        taken = before[1]
        start = before.start
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(port_allocator, "_claim", lambda granule, claims: True)
            patch.setattr(port_allocator, "FIRST", start)
            with port_block(3) as after:
                assert taken not in after
                assert after.start > before.start


def test_a_block_of_another_process_is_not_given_away_until_that_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        assert holder.stdout is not None
        start = int(holder.stdout.readline())
        monkeypatch.setattr(port_allocator, "FIRST", start)
        with port_block(40) as ports:
            assert ports.start >= start + 40
    finally:
        holder.kill()
        holder.communicate()
    monkeypatch.setattr(port_allocator, "LAST", start + 2 * GRANULE - 1)
    with port_block(40) as ports:
        assert ports.start == start


def test_a_block_is_given_back_also_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        port_allocator, "FIRST", 32_000
    )  # away from whoever searches from the start meanwhile
    with pytest.raises(RuntimeError), port_block(1) as first:
        raise RuntimeError
    with port_block(1) as second:
        assert first == second


def test_none_left_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_allocator, "LAST", FIRST + GRANULE - 1)
    with (
        raises_code(PortsExhausted, "ports-exhausted", count=GRANULE + 1),
        port_block(GRANULE + 1),
    ):
        pass
