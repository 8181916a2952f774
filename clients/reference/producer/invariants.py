"""The location of every batch, and whether a producer is idle: invariants that tests and suites check.

A batch without a final state is in exactly one place: its partition's queue, or in flight. A split batch has been
replaced by its parts (PRD-FIN-04). If the producer is idle, both places are empty and all memory is returned
(PRD-ACC-11).
"""

from __future__ import annotations

from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.reference.producer.sender import Sender
from clients.reference.states import BatchState

_STATES = {
    "queue": (BatchState.OPEN, BatchState.CLOSED),
    "in-flight": (BatchState.IN_FLIGHT,),
}


def misplaced(accumulator: RecordAccumulator, sender: Sender) -> list[str]:
    """Return one sentence per misplaced batch. The list is empty at any time between two rounds."""
    places = [(batch, "queue") for batch in accumulator.queued()]
    places += [(batch, "in-flight") for batch in sender.in_flight()]
    wrong = [
        f"{batch.name} is {batch.state.value} and in place {place}"
        for batch, place in places
        if batch.state not in _STATES[place]
    ]
    placed = {batch for batch, _ in places}
    if len(placed) < len(places):
        wrong.append("a batch is in two places")
    for batch in accumulator.incomplete():
        if not (batch.is_done or batch in placed):
            wrong.append(f"{batch.name} is {batch.state.value} and nowhere")
    return wrong


def not_at_rest(accumulator: RecordAccumulator, sender: Sender, blocked_sends: int) -> list[str]:
    """Return what keeps a producer from being idle, one sentence each."""
    busy = misplaced(accumulator, sender)
    busy += [f"{batch.name} is queued" for batch in accumulator.queued()]
    busy += [f"{batch.name} is in flight" for batch in sender.in_flight()]
    busy += [f"{batch.name} holds memory, or its callbacks are due" for batch in accumulator.unreleased()]
    if blocked_sends:
        busy.append(f"{blocked_sends} send(s) wait for metadata or memory")
    pool = accumulator.pool
    if pool.available_bytes != pool.total_bytes:
        busy.append(f"{pool.total_bytes - pool.available_bytes} bytes of buffer.memory are not returned")
    return busy
