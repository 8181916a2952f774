"""What an application may not do inside a callback.

This runs on real threads, since only there it would wait for itself.
"""

from __future__ import annotations

from clients.reference import KafkaProducer
from clients.reference.errors import IllegalStateError, SendError
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import RecordMetadata
from suites.properties.property import client_property

#: No broker listens there, so a send fails after max.block.ms.
NOWHERE = {"bootstrap.servers": "127.0.0.1:9", "max.block.ms": 1}


@client_property("PRD-CLS-02", "PRD-CLS-05")
def flush_in_a_callback_is_refused(components: Components) -> None:
    """flush() in a callback raises an illegal-state error instead of waiting for itself.

    close() there does not wait.
    """
    told: list[object] = []
    kind = getattr(components, "producer", KafkaProducer)
    producer = kind(NOWHERE, components=components)

    def delivered(metadata: RecordMetadata, error: SendError | None) -> None:
        try:
            producer.flush(timeout_s=1)
        except IllegalStateError as refusal:
            told.append(refusal)
        producer.close()
        told.append("closed")

    producer.send("t", b"x", callback=delivered)
    producer.close()
    assert [type(each) for each in told] == [IllegalStateError, str], f"in the callback: {told}"
    try:
        producer.close()
    except IllegalStateError as refusal:
        raise AssertionError("a closed producer cannot be closed") from refusal
    try:
        producer.send("t", b"y")
    except IllegalStateError:
        return
    raise AssertionError("a closed producer accepts records")
