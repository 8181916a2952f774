"""What a consumer asks of a broker at a time, and in which fetch session (KIP-227)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.telemetry.fetch_events import FetchAnswered, FetchSent
from harness.wire.apis import Api
from harness.wire.error_table import error_for
from harness.wire.messages import encode_response, make, message_class
from suites.properties.delivery.fetching import Reading, batch
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example
from suites.properties.scripted_brokers import Disposition, Seen


@consumer_property("CSM-FET-01", partitions=st.integers(1, 3), idle_ms=st.integers(100, 3_000))
@example(partitions=2, idle_ms=1_000)
def one_fetch_is_under_way_to_a_broker(components: Components, partitions: int, idle_ms: int) -> None:
    """A broker has one fetch at a time, and none while its last answer waits for the application."""
    reading = Reading(components, partitions=partitions, max_poll_records=1)
    for partition in range(partitions):
        reading.fill([batch(b"x", b"y", b"z")], partition)
    reading.member.polls(timeout_ms=100)
    reading.group.until(lambda: len(reading.member.records) == 2, 10_000)
    reading.member.loop = lambda: None
    reading.group.run(idle_ms)
    under_way = 0
    for event in reading.member.trace:
        under_way += isinstance(event, FetchSent) - isinstance(event, FetchAnswered)
        assert under_way <= 1, "two fetches were under way to one broker"
    asked = len(reading.member.kinds(FetchSent))
    reading.member.do(reading.core.poll(0))
    assert len(reading.member.kinds(FetchSent)) == asked, "a fetch was sent before the last answer was read"


@consumer_property(
    "CSM-FET-10",
    failures=st.lists(st.sampled_from(["cut", 70, 71, "nothing"]), min_size=1, max_size=3),
)
@example(failures=["cut"])
@example(failures=[71])
@example(failures=["nothing", "nothing"])
def a_fetch_session_begins_again_after_a_failure(components: Components, failures: list[Any]) -> None:
    """A session begins with a full request of epoch 0. The next epoch follows a good answer, and 0 a failure."""
    reading = Reading(components, partitions=2)
    reading.fill([batch(b"x")])
    reading.read()
    for failure in failures:
        if failure == "cut":
            reading.group.proxy().cut()
        elif failure != "nothing":
            _refuse_next_fetch(reading.group, failure)
        reading.fill([batch(b"x")])
        reading.read()
    assert reading.offsets == list(range(1 + len(failures)))
    bodies = [seen.body for seen in reading.group.brokers.requests(Api.FETCH)]
    assert (bodies[0].session_id, bodies[0].session_epoch) == (0, 0)
    for earlier, later in pairwise(bodies):
        if later.session_epoch > 0:
            assert later.session_id, "an epoch without a session"
            is_same = earlier.session_epoch == 0 or earlier.session_id == later.session_id
            assert is_same and later.session_epoch == earlier.session_epoch + 1, "an epoch was skipped"
        else:
            assert sum(len(topic.partitions) for topic in later.topics) == 2, "epoch 0 lists not everything"
    restarts = sum(body.session_epoch == 0 for body in bodies[1:])
    due = sum(failure != "nothing" for failure in failures)
    assert restarts >= due, f"{restarts} sessions began again after {due} failures"
    assert due or restarts == 0, "a session began again without a failure"


def _refuse_next_fetch(group: Group, code: int) -> None:
    """Answer the next Fetch at once, with an error of the session."""
    left = [code]

    def script(seen: Seen) -> Disposition:
        if seen.api is not Api.FETCH or not left:
            return None
        kind = message_class(Api.FETCH, seen.version, "response")
        error = error_for(left.pop()).code
        body = make(kind, throttle_time=timedelta(0), error_code=error, session_id=0, responses=())
        return encode_response(body, seen.correlation_id)[4:]

    group.brokers.script = script


@consumer_property("CSM-FET-10", "CSM-API-05", records=st.integers(0, 2))
def close_ends_fetch_sessions(components: Components, records: int) -> None:
    """close() ends the session with each broker, by a request of epoch -1."""
    reading = Reading(components)
    reading.fill([batch(b"x") for _ in range(records)])
    reading.read()
    session = reading.group.brokers.requests(Api.FETCH)[-1].body.session_id
    reading.member.do(reading.core.close())
    last = reading.group.brokers.requests(Api.FETCH)[-1].body
    assert (last.session_id, last.session_epoch) == (session, -1), f"the last epoch is {last.session_epoch}"
