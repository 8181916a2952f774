"""The stages of the witness's work after it has passed bytes on, and relays that leave some of them out.

A clock inside a stage would cost as much as the stage itself. The relay is therefore told to stop after a stage, and
its CPU time is compared with that of a relay that stopped one stage earlier.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.witness.relay import Relay, Side
from harness.witness.splitter import FrameSplitter
from harness.witness.transcript import CLIENT

#: The stages in order, from a relay that only passes bytes on to the whole witness.
STAGES = ("passing on", "splitting", "decoding", "telling")

Passed = Callable[[Relay, Side, int, bytes], None]

_splitters: dict[Side, FrameSplitter] = {}
_all_of_it = Relay.passed


def stop_after(stage: str) -> None:
    """Make every relay of this process stop after a stage. With any other name, leave nothing out."""
    Relay.passed = PASSED.get(stage, _all_of_it)  # type: ignore[method-assign,assignment]


def _only_split(relay: Relay, side: Side, t_ns: int, data: bytes) -> None:
    if side not in _splitters:
        _splitters[side] = FrameSplitter()
    splitter = _splitters[side]
    if splitter.only_frame(data) is None:
        for _ in splitter.feed(data):
            pass


def _only_decode(relay: Relay, side: Side, t_ns: int, data: bytes) -> None:
    transcript = relay._transcript
    for _ in (transcript.sent if side.name == CLIENT else transcript.answered)(t_ns, data):
        pass


#: The relay's work after passing bytes on, for each stage at which it stops early.
PASSED: dict[str, Passed] = {
    "passing on": lambda relay, side, t_ns, data: None,
    "splitting": _only_split,
    "decoding": _only_decode,
}
