"""Which answers ask the client to pause, and for how long (KIP-219, NET-CON-12).

Since KIP-219 a broker answers first and then ignores the connection for a while; a client that goes on sending only
fills its own queue. Older versions of an API answer late instead: their throttle time is over when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from clients.reference.common.requests import Message
from harness.wire.apis import Api

FIRST_THROTTLING_VERSION: Mapping[int, int] = {
    Api.PRODUCE: 6,
    Api.METADATA: 6,
    Api.FIND_COORDINATOR: 2,
    Api.API_VERSIONS: 2,
    Api.INIT_PRODUCER_ID: 1,
    Api.ADD_PARTITIONS_TO_TXN: 1,
    Api.ADD_OFFSETS_TO_TXN: 1,
    Api.END_TXN: 1,
    Api.TXN_OFFSET_COMMIT: 1,
}
"""The first version of each API after whose answer the client must pause by itself."""

_MILLISECOND = timedelta(milliseconds=1)


def throttle_time_ms(body: Message) -> int:
    """What the answer says, whoever has to wait; 0 in versions without the field."""
    told: timedelta = getattr(body, "throttle_time", timedelta(0))
    return told // _MILLISECOND


def client_throttle_ms(api: Api, version: int, body: Message) -> int:
    """How long the client must leave the node alone; 0 where it need not."""
    first = FIRST_THROTTLING_VERSION.get(api)
    if first is None or version < first:
        return 0
    return max(throttle_time_ms(body), 0)
