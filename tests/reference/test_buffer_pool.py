"""The account of buffer.memory: never more lent than there is, first come first served, returned once."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clients.reference.buffer_pool import BufferPool, Grant, Waiter

TOTAL = 100


class Pool(RuleBasedStateMachine):
    """Callers take, wait, give up and return in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = BufferPool(TOTAL)
        self.lent: list[Grant] = []
        self.line: list[tuple[int, Waiter]] = []
        self.arrived = 0
        self.served: list[int] = []

    @rule(size=st.integers(1, TOTAL))
    def allocate(self, size):
        grant = self.pool.take(size)
        if grant:
            assert not self.line, "a newcomer overtook the line"
            self.lent.append(grant)
            return
        assert self.line or size > self.pool.available_bytes, "there was room"
        number = self.arrived = self.arrived + 1

        def granted(given):
            assert given.size_bytes == size
            self.served.append(number)
            self.lent.append(given)
            self.line = [(n, w) for n, w in self.line if n != number]

        self.line.append((number, self.pool.wait(size, granted)))

    @precondition(lambda self: self.lent)
    @rule(data=st.data())
    def give_back(self, data):
        grant = self.lent.pop(data.draw(st.integers(0, len(self.lent) - 1)))
        self.pool.give_back(grant)
        with pytest.raises(ValueError, match="twice"):
            self.pool.give_back(grant)

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def give_up(self, data):
        _, waiter = self.line.pop(data.draw(st.integers(0, len(self.line) - 1)))
        self.pool.give_up(waiter)

    @invariant()
    def the_account_is_right(self):
        assert self.pool.available_bytes == TOTAL - sum(grant.size_bytes for grant in self.lent) >= 0
        assert self.pool.waiting == len(self.line)

    @invariant()
    def whoever_came_first_is_served_first(self):
        assert self.served == sorted(self.served)
        if self.line:
            assert self.line[0][1].size_bytes > self.pool.available_bytes, "the first in line could be served"


TestPool = Pool.TestCase


def test_waiting_for_more_than_there_is_is_refused():
    with pytest.raises(ValueError, match="never"):
        BufferPool(10).wait(11, lambda grant: None)
