"""Which records of a log readers see: by the next marker of their producer in their partition, and by nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from harness.model.rows import LogRecord
from harness.workloads.transactions import accounting
from harness.workloads.transactions.outcomes import ABORT_MARKER, COMMIT_MARKER, Fate, fates
from tests.suites.checks.transactions.transaction_story import TransactionStory

#: (producer id, partition, what): a record, or a marker of one kind.
ROWS = st.lists(
    st.tuples(st.sampled_from([-1, 7, 8]), st.integers(0, 1), st.sampled_from(["record", "COMMIT", "ABORT"])),
    max_size=30,
)


def log_of(rows: Sequence[tuple[int, int, str]]) -> list[LogRecord]:
    story = TransactionStory()
    for n, (producer_id, partition, what) in enumerate(rows):
        if what == "record":
            story.append([n], partition, producer_id=producer_id)
        else:
            story.mark(partition, what, producer_id=max(7, producer_id))
    return story.log


@given(ROWS)
def test_next_marker_decides(rows):
    log = log_of(rows)
    evidence = replace(TransactionStory().evidence(), log=tuple(log))
    for at, (row, fate) in enumerate(zip(log, fates(evidence), strict=True)):
        later = [
            each.key
            for each in log[at + 1 :]
            if each.control and (each.partition, each.producer_id) == (row.partition, row.producer_id)
        ]
        if row.control:
            assert fate is None
        elif row.producer_id < 0 or later[:1] == [COMMIT_MARKER]:
            assert fate is Fate.VISIBLE
        else:
            assert fate is (Fate.ABORTED if later[:1] == [ABORT_MARKER] else Fate.OPEN)


@given(ROWS)
def test_each_data_record_has_one_fate_and_is_counted_once(rows):
    evidence = replace(TransactionStory().evidence(), log=tuple(log_of(rows)))
    counts = accounting.count(evidence)
    assert counts["visible"] + counts["aborted"] + counts["open"] == sum(
        not row.control for row in evidence.log
    )


@given(ROWS)
def test_what_other_partitions_have_changes_nothing(rows):
    evidence = replace(TransactionStory().evidence(), log=tuple(log_of(rows)))
    alone = replace(evidence, log=tuple(row for row in evidence.log if row.partition == 0))
    both = [fate for row, fate in zip(evidence.log, fates(evidence), strict=True) if row.partition == 0]
    assert list(fates(alone)) == both


def test_an_unknown_control_record_ends_nothing():
    story = TransactionStory()
    story.append([0], 0, producer_id=7)
    story.mark(0, COMMIT_MARKER)
    evidence = story.evidence()
    strange = replace(
        evidence, log=tuple(changed(row, key="SNAPSHOT") if row.control else row for row in evidence.log)
    )
    assert fates(evidence)[0] is Fate.VISIBLE
    assert fates(strange)[0] is Fate.OPEN
