"""Calls of a consumer that wait: when they return, how long they may take, and who may call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.consumer.errors import ConcurrentModificationError, TimeoutError
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from clients.seeding.consumer_variant import variant_of
from harness.simulated.scheduler import WALL_MS_AT_ZERO
from harness.wire.apis import Api
from harness.wire.records import end_transaction_marker
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example
from suites.properties.state_transitions.group_members import EAGER, FAST

A = ("t", 0)
LATE_MS = 25
CALLS: dict[str, Callable[[Any, int], Any]] = {
    "position": lambda core, limit_ms: core.position(A, limit_ms),
    "committed": lambda core, limit_ms: core.committed([A], limit_ms),
    "commit_sync": lambda core, limit_ms: core.commit_sync({A: OffsetAndMetadata(1)}, limit_ms),
    "partitions_for": lambda core, limit_ms: core.partitions_for("other", limit_ms),
    "list_topics": lambda core, limit_ms: core.list_topics(limit_ms),
    "offsets_for_times": lambda core, limit_ms: core.offsets_for_times({A: 1}, limit_ms),
    "beginning_offsets": lambda core, limit_ms: core.beginning_offsets([A], limit_ms),
    "end_offsets": lambda core, limit_ms: core.end_offsets([A], limit_ms),
}


@consumer_property(
    "CSM-API-04", call=st.sampled_from(sorted(CALLS)), limit_ms=st.integers(1, 5_000), is_own=st.booleans()
)
@example(call="position", limit_ms=2_000, is_own=True)
@example(call="committed", limit_ms=2_000, is_own=False)
@example(call="partitions_for", limit_ms=2_000, is_own=True)
def a_blocking_call_ends_by_its_limit(components: Components, call: str, limit_ms: int, is_own: bool) -> None:
    """A call that gets no answer ends with a timeout error by its own limit, or by default.api.timeout.ms."""
    group = Group(components)
    settings = {} if is_own else {"default_api_timeout_ms": limit_ms, "request_timeout_ms": limit_ms}
    member = group.member(enable_auto_commit=False, **settings)
    member.do(member.core.assign([A]))
    group.proxy().down.silence("property")
    began_ms = group.now_ms
    error: Exception | None = None
    try:
        member.do(CALLS[call](member.core, limit_ms if is_own else None), limit_ms + 20_000)  # type: ignore[arg-type]
    except Exception as raised:
        error = raised
    assert isinstance(error, TimeoutError), f"{call} ended with {error!r}"
    assert limit_ms <= group.now_ms - began_ms <= limit_ms + LATE_MS, f"after {group.now_ms - began_ms} ms"


@consumer_property("CSM-API-02", timeout_ms=st.integers(0, 5_000))
@example(timeout_ms=1_000)
def a_poll_without_records_ends_at_its_timeout(components: Components, timeout_ms: int) -> None:
    """poll() returns nothing at its timeout, and not before, if nothing comes."""
    group = Group(components)
    member = group.member(enable_auto_commit=False)
    member.do(member.core.assign([A]))
    member.do(member.core.position(A))
    began_ms = group.now_ms
    assert not member.do(member.core.poll(timeout_ms), timeout_ms + 5_000).count
    assert group.now_ms == began_ms + timeout_ms, f"poll({timeout_ms}) took {group.now_ms - began_ms} ms"


@consumer_property("CSM-API-02", after_ms=st.integers(10, 3_000), marker=st.booleans())
@example(after_ms=1_000, marker=True)
def a_poll_returns_as_soon_as_the_position_moves(components: Components, after_ms: int, marker: bool) -> None:
    """poll() returns once there are records, or once the position has moved without any."""
    group = Group(components)
    member = group.member(enable_auto_commit=False)
    member.do(member.core.assign([A]))
    member.do(member.core.position(A))
    ends: list[Any] = []
    member.start(member.core.poll(60_000), lambda result, error: ends.append((result, error)))
    group.run(after_ms)
    assert not ends
    if marker:
        batch = end_transaction_marker("COMMIT", 1, 0, WALL_MS_AT_ZERO)
        group.cluster.fill("t", 0, [batch], group.scheduler.now_ns)
    else:
        group.fill(0, b"x")
    group.run_until(lambda: bool(ends), 1_000)
    assert ends, "poll() waits although the position has moved"
    [(records, error)] = ends
    assert error is None and records.count == (0 if marker else 1)


@consumer_property(
    "CSM-API-05", timeout_ms=st.integers(0, 5_000), commits=st.booleans(), silent=st.booleans()
)
@example(timeout_ms=1_000, commits=True, silent=True)
@example(timeout_ms=1_000, commits=False, silent=False)
def close_ends_by_its_limit(components: Components, timeout_ms: int, commits: bool, silent: bool) -> None:
    """close() ends by its limit whatever brokers do, tells the listener, leaves, and may be repeated."""
    group = Group(components)
    group.fill(0, b"x")
    member = group.joined(**EAGER, **(FAST | {"enable_auto_commit": commits}))
    group.until(lambda: len(member.records) == 1, 10_000)
    member.loop = lambda: None
    group.until(lambda: member._call is None, 5_000)
    if silent:
        group.proxy().down.silence("property")
    began_ms = group.now_ms
    for _ in range(2):
        member.do(member.core.close(timeout_ms), timeout_ms + 60_000)
    took_ms = group.now_ms - began_ms
    assert took_ms <= timeout_ms + LATE_MS, f"close({timeout_ms}) took {took_ms} ms"
    assert member.told[-1][0] == "revoked", f"the listener heard {member.told}"
    if not silent and timeout_ms > LATE_MS:
        assert len(group.brokers.requests(Api.LEAVE_GROUP)) == 1, "the member has not left once"


class _NoCore:
    """In the place of a core, which no call reaches."""

    def at(self, now_ms: int) -> None:
        """Do nothing."""


@consumer_property("CSM-API-03", nested=st.integers(0, 2))
def one_thread_uses_a_consumer(components: Components, nested: int) -> None:
    """A call while another thread is in one is refused. The same thread may call again, as a listener does."""
    core: Any = _NoCore()
    driver = variant_of(components).driver("property", core, None, 100)  # type: ignore[arg-type]
    caught: list[type[BaseException]] = []

    def intrude() -> None:
        try:
            driver.now(lambda: None)
        except ConcurrentModificationError as error:
            caught.append(type(error))

    def within(depth: int) -> None:
        with driver.use:
            if depth:
                within(depth - 1)
                return
            other = threading.Thread(target=intrude)
            other.start()
            other.join()

    within(nested)
    assert caught == [ConcurrentModificationError], "two threads were in the consumer at once"
    intrude()
    assert len(caught) == 1, "the consumer is still occupied"
