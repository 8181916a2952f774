"""Which responses throttle the client, and for how long (KIP-219, NET-CON-12).

Since KIP-219 a broker responds first and then ignores the connection for the throttle time. A client that continues to
send only fills its own queue. In older versions of an API the broker delays the response instead, so the throttle time
is already over when the response is read.
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
"""The first version of each API for which the client itself must wait out the throttle time."""

_MILLISECOND = timedelta(milliseconds=1)


def throttle_time_ms(body: Message) -> int:
    """Return the throttle time in the response, whichever side applies it. 0 in versions without the field."""
    told: timedelta = getattr(body, "throttle_time", timedelta(0))
    return told // _MILLISECOND


def client_throttle_ms(api: Api, version: int, body: Message) -> int:
    """Return how long the client must not send to the node. 0 if it may send at once."""
    first = FIRST_THROTTLING_VERSION.get(api)
    if first is None or version < first:
        return 0
    return max(throttle_time_ms(body), 0)
