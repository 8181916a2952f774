"""Hostile bytes: real frames with one wound each, for whatever reads what nobody vouches for.

A frame that is garbage from the first byte is refused at the first byte, and tries little. So each one here begins as
a real frame of Kafka's, in any API and version, with any values, and is then hurt in one way: in its size, in its
header, in a length or a count, in its records, or anywhere. All of it is drawn from a
:class:`~harness.model.dice.Dice`, so that a seed and a name say which frame it was.
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
