"""The measurement: a round measures every path in turn, so other load on the machine affects all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.witness.frames import produce
from benchmarks.witness.paths import PATHS, Paths, opened
from benchmarks.witness.stages import STAGES

#: The size of the whole request frame, by its name.
SIZES_BYTES = {"100 B": 140, "1 KiB": 1 << 10}
BULK_BYTES = 64 << 10
TRIPS, BULK_FRAMES = 100, 100
#: The last stage is the whole witness, which is also a path.
KINDS = (*PATHS, *STAGES[:-1])


@dataclass
class Measured:
    """The figures of every round: ``trips_ns`` and ``cpu_us`` by path or stage and by size, ``bytes_per_s`` by path."""

    frame_bytes: dict[str, int]
    trips_ns: dict[tuple[str, str], list[list[int]]] = field(default_factory=dict)
    cpu_us: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    bytes_per_s: dict[str, list[float]] = field(default_factory=dict)


def measure(rounds: int, *, is_pinned: bool) -> Measured:
    """Measure every path, round by round, and the CPU time of the stages."""
    frames = {name: bytearray(produce(size)) for name, size in SIZES_BYTES.items()}
    bulk = bytearray(produce(BULK_BYTES))
    measured = Measured({name: len(frame) for name, frame in frames.items()})
    warm_up = Measured({})
    with opened(is_pinned=is_pinned) as paths:
        for number in range(rounds + 1):
            _one_round(paths, frames, bulk, measured if number else warm_up)
    return measured


def _one_round(paths: Paths, frames: dict[str, bytearray], bulk: bytearray, into: Measured) -> None:
    for kind in KINDS:
        client = paths.client(kind)
        for name, frame in frames.items():
            before_ns = paths.told(kind)
            taken_ns = client.trips(frame, TRIPS)
            after_ns = paths.told(kind)
            into.trips_ns.setdefault((kind, name), []).append(taken_ns)
            into.cpu_us.setdefault((kind, name), []).append((after_ns - before_ns) / TRIPS / 1e3)
        if kind in PATHS:
            into.bytes_per_s.setdefault(kind, []).append(client.bulk(bulk, BULK_FRAMES))
