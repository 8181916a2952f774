"""The fields that every event of a client has."""

from __future__ import annotations

from typing import Annotated

import msgspec

#: The range of an integer in a column of evidence.
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="name"):
    """The fields of every event: its number (from 0, without gaps in a process) and when it was written.

    In a trial with several client processes, the harness sets ``producer`` to the name of the event's process.
    """

    seq: Int64
    mono_ns: Int64
    wall_ns: Int64
    producer: str | msgspec.UnsetType = msgspec.UNSET
