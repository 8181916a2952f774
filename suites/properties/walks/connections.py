"""Walks of ConnectionsWalkTheirStates: failures in a row, throttles, refused versions, a broker that moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clients.reference.ports import ChannelState
from suites.properties.property import Step, step

BEGIN = step("begin", backoff_ms=100, backoff_max_ms=1_000, setup_ms=100, setup_max_ms=1_000, jitter=0.0)
TRY = (step("want", node_id=1), step("connected", which=0))
READY = (*TRY, step("versions", which=0, throttle_ms=0))
LOST = step("lost", which=0, how=ChannelState.NOT_CONNECTED)
PAUSE = step("wait", passed_ms=1_000)

WALKS: Mapping[str, Sequence[Step]] = {
    "refused twice in a row": (BEGIN, step("want", node_id=1), LOST, PAUSE, step("want", node_id=1), LOST),
    "refused, then accepted and dropped": (BEGIN, step("want", node_id=1), LOST, PAUSE, *TRY, LOST),
    "refused, then ready, then lost": (BEGIN, step("want", node_id=1), LOST, PAUSE, *READY, LOST),
    "ready and lost, twice": (BEGIN, *READY, LOST, PAUSE, *READY, LOST),
    "throttled from the first answer": (
        BEGIN,
        *TRY,
        step("versions", which=0, throttle_ms=300),
        step("wait", passed_ms=299),
        step("wait", passed_ms=1),
    ),
    "one of two ready nodes is throttled": (
        BEGIN,
        *TRY,
        step("versions", which=0, throttle_ms=300),
        step("want", node_id=2),
        step("connected", which=0),
        step("versions", which=0, throttle_ms=0),
    ),
    "connected, and its versions not known yet": (BEGIN, *TRY, step("wait", passed_ms=1)),
    "a set-up without an end": (BEGIN, step("want", node_id=1), step("wait", passed_ms=10_000)),
    "versions without an end": (BEGIN, *TRY, step("wait", passed_ms=10_000)),
    "versions refused for good": (BEGIN, *TRY, step("versions_refused", which=0, error_code=58)),
    "versions refused as unsupported": (BEGIN, *TRY, step("versions_refused", which=0, error_code=35)),
    "a broker moves while its node backs off": (
        BEGIN,
        step("want", node_id=1),
        LOST,
        step("move_broker", node_id=1, port=9_093),
        step("want", node_id=1),
    ),
}
