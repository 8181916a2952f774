"""Toxiproxy's toxics and the values they may have.

The server checks next to nothing: what is missing is 0, what is unknown is ignored, and some values end the whole
process (a slicer without a size, a negative bandwidth). So every attribute is given explicitly, and is checked
here first. Toxicity is a coin tossed again at every change of a toxic's neighbours, and jitter is random as well:
all chance belongs to the plan, so toxicity is 0 or 1 and jitter is 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.errors import UsageError

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

#: What to set a toxic to before it is removed, so that it holds nothing back when the removal waits for it: a
#: latency with n held chunks and no reader takes about n times 5 s to remove otherwise, with the proxy locked.
HARMLESS: Mapping[str, dict[str, int]] = {"latency": {"latency": 0, "jitter": 0}}


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
