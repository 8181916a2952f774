"""The outcome of every record that the harness wrote: delivered, how often, and committed. Pure views.

An item is a place in the log: partition and offset. A *delivery* is an item that a member reported in
``records_consumed``. Then:

- **written**: the records that the harness wrote;
- **delivered**: those of them that some member got at least once;
- **missed**: records of the log that no member got, without those of aborted transactions if members need not get them;
- **redelivered**: deliveries beyond an item's first;
- **foreign**: deliveries whose content is not that of the log at their place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from harness.model.consumer_contract import RecordsConsumed
from harness.model.evidence import Evidence, view
from harness.model.harness_events import AsideWritten
from harness.model.payload import decode
from harness.workloads.consume.fates import withheld


class Delivery(NamedTuple):
    """One record that a member got: where from, when, what, and when it had processed it."""

    member: str
    partition: int
    offset: int
    value: str | None
    polled_ns: int
    processed_ns: int


def _deliveries(evidence: Evidence) -> Iterator[Delivery]:
    topic = evidence.record.topic
    for event in evidence.history:
        if isinstance(event, RecordsConsumed):
            member = str(event.producer or "")
            for part in event.partitions:
                if part.topic == topic:
                    for offset, value in zip(part.offsets, part.values, strict=True):
                        yield Delivery(member, part.partition, offset, value, event.polled_ns, event.mono_ns)


@view
def deliveries(evidence: Evidence) -> list[Delivery]:
    """Return every delivery, in the order in which the harness received them."""
    return list(_deliveries(evidence))


@view
def contents(evidence: Evidence) -> dict[tuple[int, int], str | None]:
    """Return (partition, offset) -> value of each data record of the log."""
    return {(row.partition, row.offset): row.value for row in evidence.log if not row.control}


@view
def items(evidence: Evidence) -> dict[tuple[int, int], str | None]:
    """Return the same of the records that members must be given."""
    hidden = withheld(evidence)
    return {place: value for place, value in contents(evidence).items() if place not in hidden}


@view
def missed(evidence: Evidence) -> list[tuple[int, int]]:
    """Return the items that no member got, in order."""
    got = {(each.partition, each.offset) for each in of_this_log(evidence)}
    return sorted(set(items(evidence)) - got)


@view
def of_this_log(evidence: Evidence) -> list[Delivery]:
    """Return the deliveries without those of records that the log has lost, where it has others or none now."""
    stored, aside = contents(evidence), written_aside(evidence)
    return [
        each
        for each in deliveries(evidence)
        if stored.get(place := (each.partition, each.offset)) == each.value
        or each.value not in aside.get(place, ())
    ]


@view
def foreign(evidence: Evidence) -> list[Delivery]:
    """Return deliveries of another content than the log has at their place. A long value is compared by identity."""
    known = contents(evidence)
    return [
        each
        for each in of_this_log(evidence)
        if (place := (each.partition, each.offset)) not in known or not _is_same(known[place], each.value)
    ]


@view
def written_aside(evidence: Evidence) -> dict[tuple[int, int], set[str]]:
    """Return (partition, offset) -> the values that the harness wrote there beside the load. The log may lack them."""
    found: dict[tuple[int, int], set[str]] = {}
    for event in evidence.history:
        if isinstance(event, AsideWritten):
            for place, value in event.records():
                found.setdefault(place, set()).add(value)
    return found


def _is_same(stored: str | None, got: str | None) -> bool:
    if stored == got:
        return True
    return None not in (stored, got) and (identity := decode(got)) is not None and identity == decode(stored)


def count(evidence: Evidence) -> dict[str, int]:
    """Return the counts of a verdict."""
    got = deliveries(evidence)
    first = Counter((each.partition, each.offset) for each in got)
    return {
        "written": len(evidence.operations),
        "delivered": len(evidence.acknowledged),
        "missed": len(missed(evidence)),
        "redelivered": len(got) - len(first),
        "foreign": len(foreign(evidence)),
    }


#: The meaning of each count, in words.
MEANING = {
    "written": "records that the harness wrote",
    "delivered": "of them, those that some member got",
    "missed": "records of the log that no member got",
    "redelivered": "deliveries beyond a record's first",
    "foreign": "deliveries that are not what the log has at their place",
}
