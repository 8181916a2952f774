"""The accounting of buffer.memory (PRD-ACC-09, PRD-ACC-11).

The pool never grants more than it has, serves requests in order, and takes each grant back once.
"""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clients.reference.producer.buffer_pool import BufferPool, Grant, Waiter

TOTAL = 100


class Pool(RuleBasedStateMachine):
    """Callers allocate, wait, give up and release in any order."""

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
            assert not self.line, "a new request was served before waiting ones"
            self.lent.append(grant)
            return
        assert self.line or size > self.pool.available_bytes, "there was memory for the request"
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

    @precondition(lambda self: self.lent)
    @rule(data=st.data(), more=st.integers(1, TOTAL))
    def grow(self, data, more):
        """A compressed batch requests more memory, and is not served before waiting requests."""
        grant = self.lent[data.draw(st.integers(0, len(self.lent) - 1))]
        before, could = grant.size_bytes, not self.line and more <= self.pool.available_bytes
        assert self.pool.grow(grant, more) is could
        assert grant.size_bytes == before + (more if could else 0)

    @precondition(lambda self: self.lent)
    @rule(data=st.data(), left=st.integers(0, TOTAL))
    def shrink(self, data, left):
        grant = self.lent[data.draw(st.integers(0, len(self.lent) - 1))]
        before = grant.size_bytes
        self.pool.shrink(grant, left)
        assert grant.size_bytes == min(before, left)

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def give_up(self, data):
        _, waiter = self.line.pop(data.draw(st.integers(0, len(self.line) - 1)))
        self.pool.give_up(waiter)

    @invariant()
    def used_and_free_add_up(self):
        assert self.pool.available_bytes == TOTAL - sum(grant.size_bytes for grant in self.lent) >= 0
        assert self.pool.waiting == len(self.line)

    @invariant()
    def requests_are_served_in_order(self):
        assert self.served == sorted(self.served)
        if self.line:
            assert self.line[0][1].size_bytes > self.pool.available_bytes, (
                "the first waiting request could be served"
            )


TestPool = Pool.TestCase


def test_request_beyond_the_total_is_refused():
    with pytest.raises(ValueError, match="exceed the pool"):
        BufferPool(10).wait(11, lambda grant: None)


def test_released_memory_neither_grows_nor_shrinks():
    """PRD-ACC-11."""
    pool = BufferPool(10)
    grant = pool.take(5)
    pool.give_back(grant)
    for again in (lambda: pool.grow(grant, 1), lambda: pool.shrink(grant, 1)):
        with pytest.raises(ValueError, match="returned"):
            again()
    assert pool.available_bytes == 10
