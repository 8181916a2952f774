"""Requests that contradict the settings of the client: other acks, another compression.type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import ProducePart
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import DURABLE
from suites.perturbations.batches import spots
from suites.perturbations.edits import with_frame, with_frames
from suites.perturbations.exchanges import Batch, Spot, request_of, settled
from suites.perturbations.perturbation import channels, once

FRAMES = channels("frames")
COMPRESSION = "compression.type"


def _acks(acks: int) -> Callable[[Evidence, str], Evidence]:
    def apply(evidence: Evidence, _: str) -> Evidence:
        frames = [frame if frame.acks is None else changed(frame, acks=acks) for frame in evidence.frames]
        return with_frames(evidence, frames)

    return apply


def _one_with_acks_1(evidence: Evidence, spot: Spot) -> Evidence:
    return with_frame(evidence, settled(evidence)[spot].exchange.request, acks=1)


def _asks_for_all(evidence: Evidence) -> bool:
    asks = any(frame.acks == -1 for frame in evidence.frames)
    return asks and str(evidence.record.spec.config.get("acks")) in ("all", "-1")


def _acks_told(evidence: Evidence, batch: Batch) -> bool:
    return request_of(evidence, batch).acks == -1 and _asks_for_all(evidence)


def _recompressed(evidence: Evidence, _: str) -> Evidence:
    """Everything is compressed with another codec, on the wire and in the log."""
    asked = evidence.record.spec.config[COMPRESSION]
    other = "lz4" if asked == "gzip" else "gzip"

    def part(row: ProducePart) -> ProducePart:
        return row if row.compression is None else changed(row, compression=other)

    frames = [
        changed(frame, produce=tuple(map(part, frame.produce))) if frame.produce else frame
        for frame in evidence.frames
    ]
    log = tuple([changed(record, compression=other) for record in evidence.log])
    return replace(with_frames(evidence, frames), log=log)


def _compresses_as_asked(evidence: Evidence) -> bool:
    asked = evidence.record.spec.config.get(COMPRESSION)
    used = {record.compression for record in evidence.log}
    return COMPRESSION not in evidence.record.not_set and used == {asked}


PERTURBATIONS = (
    Perturbation(
        "acks-of-the-leader",
        FRAMES,
        "asks for acks=1 although acks is all",
        ("acks-not-applied",),
        once(_asks_for_all),
        _acks(1),
        guarantees=DURABLE,
    ),
    Perturbation(
        "one-request-with-acks-1",
        FRAMES,
        "sends one request with acks=1 although acks is all",
        ("acks-not-applied",),
        spots(_acks_told),
        _one_with_acks_1,
        guarantees=DURABLE,
    ),
    Perturbation(
        "wrong-compression",
        channels("frames", "log"),
        "compresses with a codec other than compression.type",
        ("codec-not-applied",),
        once(_compresses_as_asked),
        _recompressed,
        Verdict.DIFFERS,
    ),
)
