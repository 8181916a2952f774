"""The identities of what is wrong with a trial's delivery, as rows: the online views of
:mod:`harness.workloads.produce.accounting`.

One row an anomaly. Kind, ``n`` (record number), ``partition``, ``offset`` and ``detail`` together are its identity:
the second judgement (``reports.spark.transforms.anomalies``) computes the same rows, and one that only one of the two
has is a disagreement. What each kind puts into them:

- ``lost``: the record, and the place that was acknowledged (null where the client did not say);
- ``duplicated``: the record and the place of each copy beyond its first by ``(partition, offset)``;
- ``reordered``: the record and the place of its first copy there; ``detail`` the number of the record that overtook it;
- ``unexpected``: the place; the record where it is one of ours; ``detail`` the code of the reason;
- ``moved-key``: ``detail`` the key, and ``partition`` one of those that hold it: a row for each;
- ``strange-timestamp``: the place; the record where it is one of ours; ``detail`` the timestamp in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly_row import AnomalyRow
from harness.model.evidence import Evidence
from harness.model.rows import LogRecord
from harness.workloads.produce import accounting


def anomaly_rows(evidence: Evidence) -> Iterator[AnomalyRow]:
    """What the online views find, kind by kind."""
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
