"""What the harness writes for a command: each record of the load once, and no transaction that stays open."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.model.payload import decode
from harness.model.written import Written
from harness.trial.contents import ASIDE, End, Put, Writer, acts, aside
from harness.wire.records import Codec, read_batches

GROUP, PARTITIONS = "t", 3


@st.composite
def commands(draw):
    """Draw a command for three partitions."""
    partitions = draw(st.lists(st.integers(0, PARTITIONS - 1), min_size=1, max_size=12))
    return Written(
        id=0,
        topic=GROUP,
        first=draw(st.integers(0, 500)),
        keys=[None] * len(partitions),
        values=[f"v{n}" for n in range(len(partitions))],
        partitions=partitions,
        codec=draw(st.sampled_from(["none", "gzip"])),
        transactional=draw(st.booleans()),
        aborted=draw(st.integers(0, 5)),
        empty=draw(st.booleans()),
    )


@given(commands())
def test_each_record_of_the_load_is_written_once_and_in_order(command):
    [load] = [act for act in acts(command, GROUP, PARTITIONS) if isinstance(act, Put) and act.is_load]
    assert load.codec.name.lower() == command.codec
    for partition in range(PARTITIONS):
        wanted = [
            value for value, at in zip(command.values, command.partitions, strict=True) if at == partition
        ]
        assert [value for _, value in load.records.get(partition, ())] == wanted


@given(commands())
def test_every_transaction_ends_and_what_is_aside_is_aborted(command):
    is_open: dict[str, bool] = {}
    commits: dict[str, bool] = {}
    beside = []
    for act in acts(command, GROUP, PARTITIONS):
        if isinstance(act, End):
            is_open[act.writer], commits[act.writer] = False, act.commits
            assert act.also or is_open
        elif act.writer:
            is_open[act.writer] = True
            beside += [] if act.is_load else [(act.writer, each) for each in act.records.values()]
    assert not any(is_open.values())
    assert not any(commits[writer] for writer, _ in beside)
    assert command.transactional or not commits
    records = sum(len(each) for _, each in beside)
    assert records == (PARTITIONS * command.aborted if command.transactional else 0)


@given(st.integers(1, 20), st.lists(st.integers(0, 2_000_000), min_size=2, max_size=6, unique=True))
def test_records_aside_differ_and_say_so(count, turns):
    values = [
        value
        for turn in turns
        for records in aside(GROUP, tuple(range(PARTITIONS)), count, turn).values()
        for _, value in records
    ]
    assert len(set(values)) == len(values) == count * PARTITIONS * len(turns)
    assert {decode(value).producer for value in values} == {ASIDE}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5)), min_size=1, max_size=10))
def test_sequences_of_a_writer_follow_each_other_in_each_partition(batches):
    writer, expected = Writer(7, 1), dict.fromkeys(range(PARTITIONS), 0)
    for partition, count in batches:
        data = writer.batch(partition, ((None, "v"),) * count, Codec.NONE, 0)
        [batch] = read_batches(data)
        assert batch.header.is_transactional and batch.header.producer_id == 7
        assert batch.header.base_sequence == expected[partition]
        expected[partition] += count
