"""Toxiproxy's toxics and the values they may have.

The server checks almost nothing: a missing attribute is 0, an unknown one is ignored, and some values crash the whole
process (a slicer without a size, a negative bandwidth). So every attribute is given explicitly, and is checked here
first. Toxiproxy draws toxicity again at every change of a toxic's neighbours, and jitter is random as well. Since all
randomness belongs to the plan, toxicity is 0 or 1 and jitter is 0.

What toxics and listeners can produce, and the kind of fault that does it:

====  ======================================================  ======================================================
(a)   applied, the response dropped                           ``dropped_response``; the connection goes on after the
                                                              gap: ``dropped_frame``
(b)   applied, cut before the response: by FIN, by RST        ``torn_frame`` at byte 0, with ``reset``; at a chosen
                                                              moment: ``disconnect`` during a ``late_response``
(c)   never reached the broker: silence, cut, refusal         ``dropped_request``; ``torn_frame`` upstream at byte 0;
                                                              ``refuse``
(c')  reaches the broker after the client has left            ``delayed_past_disconnect``
(d)   the response arrives after the client's timeout         ``late_response``
(e)   half open, on the client's or on the broker's side      ``half_open``
(f)   a frame torn at a byte, either way, by FIN or RST       ``torn_frame``
(g)   a trickle                                               ``bandwidth``, ``slicer``
(h)   refused                                                 ``refuse``, ``disconnect``
(i)   connecting times out                                    ``connect_timeout``
(j)   partitions: loud, silent, one-way                       ``partition``
(k)   idle connections are killed                             ``idle_kill``
(l)   a broker's crash: behind a proxy, without a proxy       ``accept_then_close``; ``broker_kill``, where proxies
refuse ====  ======================================================
======================================================

``latency`` and ``reset`` are not in this table.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.errors import UsageError

HOUR_MS = 3_600_000
STREAMS = ("upstream", "downstream")

#: Toxic -> attribute -> (lowest, highest) value.
RANGES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "latency": {"latency": (0, HOUR_MS), "jitter": (0, 0)},
    "bandwidth": {"rate": (1, 10_000_000)},
    "timeout": {"timeout": (0, HOUR_MS)},
    "slow_close": {"delay": (0, HOUR_MS)},
    "slicer": {"average_size": (1, 2**20), "size_variation": (0, 2**20), "delay": (0, 60_000_000)},
    "limit_data": {"bytes": (0, 2**40)},
    "reset_peer": {"timeout": (0, HOUR_MS)},
}

#: The values to set a toxic to, one after the other, before it is removed, so that it holds nothing when the removal
#: waits for it. Otherwise a latency with n held chunks and no reader takes about n times 5 s to remove, with the proxy
#: locked. Each change releases the current chunk, and the second write to a client that has left ends the connection.
#: A bandwidth is set to its current rate: if the rate grows while a chunk is sent, the server reads beyond the chunk's
#: end and crashes.
HARMLESS: Mapping[str, tuple[Mapping[str, int], ...]] = {
    "latency": ({"latency": 0, "jitter": 0},),
    "bandwidth": ({}, {}),
    "slicer": ({"average_size": 2**20, "size_variation": 0, "delay": 0},),
}

#: Toxics that keep bytes, or the end of a connection, for later. A toxic that has one of these after it cannot be
#: removed: its stage waits for the slow one, or it has already ended. In that case the server removes the wrong toxic
#: from the chain and crashes with an index out of range when the next one is added.
HOLDING = frozenset({"latency", "bandwidth", "slicer", "slow_close"})


def checked(kind: str, stream: str, toxicity: float, attributes: Mapping[str, int]) -> dict[str, int]:
    """Return ``attributes`` as they may be sent. Raise UsageError, in one sentence, for anything not in the table."""
    if kind not in RANGES or stream not in STREAMS or toxicity not in (0.0, 1.0):
        raise UsageError(
            "toxic-unknown",
            "there is no toxic {kind!r} on {stream!r} with toxicity {toxicity}",
            kind=kind,
            stream=stream,
            toxicity=toxicity,
        )
    ranges = RANGES[kind]
    if set(attributes) != set(ranges):
        raise UsageError(
            "toxic-attributes",
            "a {kind} toxic needs exactly {ranges}, not {attributes}",
            kind=kind,
            ranges=sorted(ranges),
            attributes=sorted(attributes),
        )
    for name, value in attributes.items():
        low, high = ranges[name]
        if not low <= value <= high:
            raise UsageError(
                "toxic-attribute-range",
                "{name} of a {kind} toxic must be {low} to {high}, not {value}",
                name=name,
                kind=kind,
                low=low,
                high=high,
                value=value,
            )
    if kind == "slicer" and attributes["size_variation"] >= attributes["average_size"]:
        raise UsageError(
            "toxic-size-variation", "size_variation of a slicer toxic must be smaller than its average_size"
        )
    return dict(attributes)
