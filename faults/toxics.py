"""Toxiproxy's toxics and the values they may have.

The server checks next to nothing: what is missing is 0, what is unknown is ignored, and some values end the whole
process (a slicer without a size, a negative bandwidth). So every attribute is given explicitly, and is checked
here first. Toxicity is a coin tossed again at every change of a toxic's neighbours, and jitter is random as well:
all chance belongs to the plan, so toxicity is 0 or 1 and jitter is 0.

What toxics and listeners are good for, and which kind of fault does it:

====  ======================================================  ======================================================
(a)   applied, the response dropped                           ``dropped_response``; the connection goes on behind the
                                                              gap: ``dropped_frame``
(b)   applied, cut before the response: by FIN, by RST        ``torn_frame`` at byte 0, with ``reset``; at a chosen
                                                              moment: ``disconnect`` during a ``late_response``
(c)   never reached the broker: silence, cut, refusal         ``dropped_request``; ``torn_frame`` upstream at byte 0;
                                                              ``refuse``
(c')  reaches the broker after the client has left            ``ghost_request``
(d)   the response comes after the client's timeout           ``late_response``
(e)   half open, on the client's or on the broker's side      ``half_open``
(f)   a frame torn at a byte, either way, by FIN or RST       ``torn_frame``
(g)   a trickle                                               ``bandwidth``, ``slicer``
(h)   refused                                                 ``refuse``, ``disconnect``
(i)   connecting times out                                    ``connect_timeout``
(j)   partitions: loud, silent, one-way                       ``partition``
(k)   idle connections are killed                             ``idle_kill``
(l)   a broker's crash: as behind a proxy, as without one     ``hang_up``; ``broker_kill``, where proxies refuse
====  ======================================================  ======================================================

``latency`` and ``reset`` are recipes of their own.
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

#: What to set a toxic to before it is removed, one after the other, so that it holds nothing back when the removal
#: waits for it: a latency with n held chunks and no reader takes about n times 5 s to remove otherwise, with the proxy
#: locked. Each change lets go of the chunk at hand, and the second write to a client that has left ends the connection.
#: A bandwidth is changed to what it is: if a rate grows under a chunk, the server reads beyond its end and dies.
HARMLESS: Mapping[str, tuple[Mapping[str, int], ...]] = {
    "latency": ({"latency": 0, "jitter": 0},),
    "bandwidth": ({}, {}),
    "slicer": ({"average_size": 2**20, "size_variation": 0, "delay": 0},),
}

#: What keeps bytes, or the end of a connection, for later. With one of these behind it a toxic cannot be removed: its
#: stage waits for the slow one; or it has ended already, and then the server takes the wrong one out of the chain and
#: dies of an index out of range when the next is added.
HOLDING = frozenset({"latency", "bandwidth", "slicer", "slow_close"})


def checked(kind: str, stream: str, toxicity: float, attributes: Mapping[str, int]) -> dict[str, int]:
    """``attributes`` as they may be sent. UsageError, in one sentence, for anything that is not in the table."""
    if kind not in RANGES or stream not in STREAMS or toxicity not in (0.0, 1.0):
        raise UsageError(f"no toxic {kind!r} on {stream!r} with toxicity {toxicity} can be asked for")
    ranges = RANGES[kind]
    if set(attributes) != set(ranges):
        raise UsageError(f"a {kind} toxic needs exactly {sorted(ranges)}, not {sorted(attributes)}")
    for name, value in attributes.items():
        low, high = ranges[name]
        if not low <= value <= high:
            raise UsageError(f"{name} of a {kind} toxic must be {low} to {high}, not {value}")
    if kind == "slicer" and attributes["size_variation"] >= attributes["average_size"]:
        raise UsageError("size_variation of a slicer toxic must be smaller than its average_size")
    return dict(attributes)
