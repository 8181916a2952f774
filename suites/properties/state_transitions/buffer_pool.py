"""The account of buffer.memory: waiting calls are served in turn, and lent memory is returned once."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from clients.reference.producer.buffer_pool import BufferPool, Grant, Waiter
from clients.reference.producer.producer import Components
from suites.properties.property import stateful_property
from suites.properties.state_transitions import wire
from suites.properties.walks.buffer_pool import WALKS

BYTES = st.integers(1, 60)
WHICH = st.integers(0, 7)


def pool_of(components: Components, total_bytes: int) -> BufferPool:
    """Return the buffer pool of the client under test, which its accumulator creates."""
    config = wire.config(buffer_memory=total_bytes, batch_size=1)
    metadata = components.metadata(config, float, lambda event: None)
    accumulator = components.accumulator(config, metadata, None, float, lambda event: None, components.batch)
    return accumulator.pool


@dataclass(slots=True, eq=False)
class Place:
    """A place in the queue. ``grant`` is set once it was served."""

    size_bytes: int
    grant: Grant | None = None
    waiter: Waiter | None = None

    def granted(self, grant: Grant) -> None:
        assert self.grant is None, "served twice"
        self.grant = grant


@stateful_property("PRD-ACC-09", "PRD-ACC-11", walks=WALKS)
class MemoryIsLentInTurnAndReturnedOnce(RuleBasedStateMachine):
    """Waiting calls get memory in order of arrival, never beyond the total, and it is returned once."""

    components = Components()

    @initialize(total_bytes=st.integers(60, 150))
    def begin(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.pool = pool_of(self.components, total_bytes)
        self.lent: list[Grant] = []
        self.returned: list[Grant] = []
        self.line: list[Place] = []

    @rule(size_bytes=BYTES)
    def allocate(self, size_bytes: int) -> None:
        """Memory is granted at once if no call waits and enough is free, else at the end of the queue."""
        free = self._free_bytes()
        grant = self.pool.take(size_bytes)
        assert (grant is not None) is (not self.line and size_bytes <= free), f"{size_bytes} of {free} bytes"
        if grant is not None:
            assert grant.size_bytes == size_bytes
            self.lent.append(grant)
        else:
            place = Place(size_bytes)
            place.waiter = self.pool.wait(size_bytes, place.granted)
            self.line.append(place)
        self._serve()

    @rule(which=WHICH)
    def give_back(self, which: int) -> None:
        if self.lent:
            grant = self.lent.pop(which % len(self.lent))
            self.pool.give_back(grant)
            self.returned.append(grant)
            self._serve()

    @rule(which=WHICH)
    def give_back_twice(self, which: int) -> None:
        """A second return is a defect of the caller, and changes nothing."""
        if self.returned:
            before = self.pool.available_bytes
            try:
                self.pool.give_back(self.returned[which % len(self.returned)])
            except ValueError:
                assert self.pool.available_bytes == before
            else:
                raise AssertionError("the same bytes were taken back twice")

    @rule(which=WHICH)
    def give_up(self, which: int) -> None:
        """When a call leaves the queue, those after it move up."""
        if self.line:
            place = self.line.pop(which % len(self.line))
            assert place.waiter is not None
            self.pool.give_up(place.waiter)
            self._serve()

    @rule(which=WHICH, more_bytes=BYTES)
    def grow(self, which: int, more_bytes: int) -> None:
        """A batch that needs more memory counts as a new arrival: it never passes waiting calls."""
        if self.lent:
            grant = self.lent[which % len(self.lent)]
            may = not self.line and more_bytes <= self._free_bytes()
            before = grant.size_bytes
            assert self.pool.grow(grant, more_bytes) is may
            assert grant.size_bytes == before + (more_bytes if may else 0)

    @rule(which=WHICH, size_bytes=BYTES)
    def shrink(self, which: int, size_bytes: int) -> None:
        if self.lent:
            grant = self.lent[which % len(self.lent)]
            expected = min(grant.size_bytes, size_bytes)
            self.pool.shrink(grant, size_bytes)
            assert grant.size_bytes == expected
            self._serve()

    def _free_bytes(self) -> int:
        return self.total_bytes - sum(grant.size_bytes for grant in self.lent)

    def _serve(self) -> None:
        """First come, first served, and no call waits for memory that is free."""
        while self.line and self.line[0].grant is not None:
            grant = self.line.pop(0).grant
            assert grant is not None
            self.lent.append(grant)
        overtakers = [place for place in self.line if place.grant is not None]
        assert not overtakers, "a call was served out of turn"
        if self.line:
            assert self.line[0].size_bytes > self._free_bytes(), (
                "the first in line waits although memory is free"
            )

    @invariant()
    def the_account_is_right(self) -> None:
        assert self.pool.available_bytes == self._free_bytes()
        assert 0 <= self.pool.available_bytes <= self.pool.total_bytes == self.total_bytes
        assert self.pool.waiting == len(self.line)

    def teardown(self) -> None:
        """Once all memory was returned, all of it is free."""
        if hasattr(self, "pool"):
            while self.lent:
                self.give_back(0)
            assert not self.line
            assert self.pool.available_bytes == self.total_bytes
