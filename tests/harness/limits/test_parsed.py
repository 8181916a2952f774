"""Limits on the content of an event, also within the parts of a consumer's events."""

from __future__ import annotations

import msgspec
import pytest

from harness.limits.meter import ENTRIES, TEXT_CHARS
from harness.limits.parsed import TooMuch, within
from harness.model.consumer_contract import (
    Consumed,
    ConsumerError,
    OffsetsCommitted,
    PartitionsAssigned,
    Place,
    Position,
    RecordsConsumed,
)
from harness.model.event import Event

LONG = "t" * 100_000
WHEN = {"seq": 1, "mono_ns": 1, "wall_ns": 1}


def limited(event: Event) -> Event:
    return within(event, len(msgspec.json.encode(event)))


def consumed(count: int, **fields: object) -> RecordsConsumed:
    offsets = list(range(count))
    part = Consumed("t", 0, count, 0, count - 1, offsets, [None] * count)
    return RecordsConsumed(
        **WHEN, count=count, partitions=[msgspec.structs.replace(part, **fields)], polled_ns=1
    )


def test_long_text_within_parts_is_cut():
    events = (
        consumed(1, topic=LONG),
        PartitionsAssigned(**WHEN, partitions=[Place(LONG, 0)], member_id=LONG),
        OffsetsCommitted(
            **WHEN,
            offsets=[Position(LONG, 0, 1)],
            success=True,
            how="sync",
            invoke_ns=1,
            complete_ns=1,
            error=LONG,
        ),
        ConsumerError(**WHEN, call="poll", error=LONG, message=LONG),
    )
    for event in events:
        told = repr(limited(event))
        assert len(told) < 3 * TEXT_CHARS.base and f"({95_904:,} more" in told


def test_content_of_records_is_never_cut():
    event = consumed(1, values=[LONG], keys=[LONG])
    assert limited(event) == event


def test_one_turn_may_have_more_records_than_a_table_has_entries():
    event = consumed(2 * ENTRIES.base, leader_epochs=[0] * 2 * ENTRIES.base)
    assert limited(event) == event


def test_too_many_partitions_break_the_contract():
    with pytest.raises(TooMuch, match="at most 1,000 entries in partitions"):
        limited(PartitionsAssigned(**WHEN, partitions=[Place("t", n) for n in range(ENTRIES.base + 1)]))
