"""The stages of the witness's work behind the passing on, and relays that leave some of them out.

What a stage costs cannot be read from a clock inside it, which would cost as much. So the relay is told to stop after
a stage, and its CPU time is compared with that of a relay which stopped one stage earlier.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.witness.relay import Relay, Side
from harness.witness.splitter import FrameSplitter
from harness.witness.transcript import CLIENT

#: From the relay that only passes on to the whole witness.
STAGES = ("passing on", "splitting", "decoding", "telling")

Passed = Callable[[Relay, Side, int, bytes], None]

_splitters: dict[Side, FrameSplitter] = {}
_all_of_it = Relay.passed


def stop_after(stage: str) -> None:
    """From now on every relay of this process leaves out what comes later; any other name: it leaves out nothing."""
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


#: What is done behind the passing on, where not all of it is.
PASSED: dict[str, Passed] = {
    "passing on": lambda relay, side, t_ns, data: None,
    "splitting": _only_split,
    "decoding": _only_decode,
}
