"""Hostile bytes for readers of untrusted data: real frames with one defect each.

A frame that is garbage from the first byte is rejected at the first byte and tests little. Each frame here therefore
begins as a real Kafka frame, in any API and version, with any values, and is then damaged in one way: in its size, in
its header, in a length or a count, in its records, or anywhere. Everything is drawn from a
:class:`~harness.model.dice.Dice`, so that a seed and a name identify the frame.
"""

from testkit.hostile.frames import (
    BREAKS_FRAMING,
    KEEPS_FRAMING,
    WOUNDS,
    HostileFrame,
    hostile_frame,
    trickle,
    wounded,
)
from testkit.hostile.messages import RealFrame, real_frame
from testkit.hostile.records import BOMBS, MAX_DECOMPRESSED_BYTES, hostile_records

__all__ = [
    "BOMBS",
    "BREAKS_FRAMING",
    "KEEPS_FRAMING",
    "MAX_DECOMPRESSED_BYTES",
    "WOUNDS",
    "HostileFrame",
    "RealFrame",
    "hostile_frame",
    "hostile_records",
    "real_frame",
    "trickle",
    "wounded",
]
