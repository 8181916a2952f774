"""The anomalies of a trial's delivery as rows, from the views of :mod:`harness.workloads.produce.accounting`.

There is one row per anomaly. Kind, ``n`` (record number), ``partition``, ``offset`` and ``detail`` together are its
identity. The second judgement (``reports.spark.transforms.anomalies``) computes the same rows; a row that only one of
the two has is a disagreement. The contents by kind:

- ``lost``: the record, and the place that was acknowledged (null if the client did not report it);
- ``duplicated``: the record and the place of each copy beyond its first by ``(partition, offset)``;
- ``reordered``: the record and the place of its first copy there; ``detail`` is the number of the record that overtook
  it;
- ``unexpected``: the place; the record if it belongs to this trial; ``detail`` is the code of the reason;
- ``moved-key``: ``detail`` is the key, and ``partition`` one of those that have it, with a row for each;
- ``strange-timestamp``: the place; the record if it belongs to this trial; ``detail`` is the timestamp in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly_row import AnomalyRow
from harness.model.evidence import Evidence
from harness.model.rows import LogRecord
from harness.workloads.produce import accounting


def anomaly_rows(evidence: Evidence) -> Iterator[AnomalyRow]:
    """Yield the anomalies that the online views find, kind by kind."""
    for send in accounting.lost(evidence):
        yield AnomalyRow("lost", send.n, _known(send.partition), _known(send.offset))
    for n, copies in accounting.duplicates(evidence).items():
        for record in copies[1:]:
            yield _at(record, "duplicated", n)
    for inversion in accounting.inversions(evidence):
        yield _at(inversion.record, "reordered", inversion.n, str(inversion.overtaken_by))
    for unexpected in accounting.unexpected_records(evidence):
        yield _at(unexpected.record, "unexpected", unexpected.n, unexpected.why.name)
    for key, partitions in accounting.moved_keys(evidence).items():
        for partition in partitions:
            yield AnomalyRow("moved-key", partition=partition, detail=key)
    for record, number in accounting.strange_timestamps(evidence):
        yield _at(record, "strange-timestamp", number, str(record.timestamp_ms))


def _at(record: LogRecord, kind: str, n: int | None, detail: str | None = None) -> AnomalyRow:
    return AnomalyRow(kind, n, record.partition, record.offset, detail)


def _known(place: int) -> int | None:
    return place if place >= 0 else None
