"""Each mutant changes a batch as its description says, and changes nothing else."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clients.mutants
from clients.mutants.corrupts_on_retry import Decaying
from clients.mutants.reorders_on_retry import Reversing
from clients.reference.producer.buffer_pool import BufferPool
from clients.reference.producer.producer_batch import ProducerId
from clients.reference.telemetry.trace import no_trace
from clients.seeding.rebuilt import rebuilt
from clients.seeding.table import components_of, mutants
from clients.seeding.variant import Variant
from harness.plugins import registry
from harness.wire.records import BatchBuilder, Codec, read_batches

MUTANTS = mutants()
VALUES = st.lists(st.binary(min_size=1, max_size=30), min_size=1, max_size=8)


def batch_of(kind, values, codec):
    """Return a batch that was sent once and failed."""
    batch = kind(
        ("t", 0),
        1,
        BatchBuilder(codec, 1_000),
        BufferPool(100_000).take(1_000),
        delivery_timeout_ms=1_000,
        now_ms=0,
        trace=no_trace,
    )
    for n, value in enumerate(values):
        batch.append(
            1_000 + n, b"k", value, (), lambda metadata, error, n=n: batch.told.append((n, metadata.offset))
        )
    batch.told = []
    batch.assign_sequence(ProducerId(7, 1), 40)
    batch.drained(0)
    before = batch.payload()
    batch.reenqueued(1, 2)
    return batch, before


def values_of(payload: bytes) -> list[bytes | None]:
    [batch] = read_batches(payload)
    assert batch.crc_ok
    return [record.value for record in batch.records]


@given(VALUES, st.sampled_from(Codec))
def test_rebuilding_without_change_gives_the_same_batch(values, codec):
    _, payload = batch_of(Reversing, values, codec)
    [before], [after] = read_batches(payload), read_batches(rebuilt(payload, lambda records: records))
    assert after.records == before.records
    for name in (
        "producer_id",
        "producer_epoch",
        "base_sequence",
        "record_count",
        "attributes",
        "max_timestamp_ms",
    ):
        assert getattr(after.header, name) == getattr(before.header, name)


@given(VALUES, st.sampled_from(Codec))
def test_retry_is_reversed_and_reports_its_real_offsets(values, codec):
    batch, before = batch_of(Reversing, values, codec)
    assert values_of(before) == values
    assert values_of(batch.payload()) == values[::-1]
    batch.drained(3)
    batch.succeed(100, -1, 4)
    batch.publish(lambda raised: pytest.fail(str(raised)))
    assert sorted(batch.told) == [(n, 100 + len(values) - 1 - n) for n in range(len(values))]


@given(VALUES, st.sampled_from(Codec))
def test_retry_has_one_wrong_bit(values, codec):
    batch, before = batch_of(Decaying, values, codec)
    first, *others = values_of(batch.payload())
    assert others == values[1:]
    wrong = int.from_bytes(first or b"") ^ int.from_bytes(values[0])
    assert (len(first or b""), wrong) == (len(values[0]), 1)
    assert values_of(before) == values


def assert_overrides(mutated: type, true: type) -> None:
    """Assert that ``true`` has everything that ``mutated`` defines, also in its parts."""
    seeded = {
        word: value
        for kind in mutated.__mro__
        if kind not in true.__mro__
        for word, value in vars(kind).items()
        if callable(value) or isinstance(value, classmethod | property)
    }
    assert seeded
    for word, value in seeded.items():
        assert hasattr(true, word), f"{true.__name__} has no {word}"
        if isinstance(value, type):
            assert_overrides(value, getattr(true, word))


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_overrides_only_existing_methods(name):
    """If the real client renamed a method, the mutant would no longer have its defect."""
    for part, true in vars(Variant()).items():
        mutated = getattr(components_of(name), part, true)
        if mutated is not true:
            assert_overrides(mutated, true)


def test_every_file_is_a_mutant_and_every_mutant_is_a_client():
    files = {path.stem for path in Path(clients.mutants.__file__).parent.glob("*.py")}
    assert files - {"__init__"} == set(MUTANTS)
    as_clients = {name for name in registry.names("clients") if name.startswith("mutant-")}
    assert as_clients == {f"mutant-{name}" for name in MUTANTS}


@pytest.mark.parametrize("name", MUTANTS)
def test_description_is_one_sentence(name):
    doc = import_module(f"clients.mutants.{name}").__doc__
    assert doc.count("\n") == 0 and doc.endswith(".")
    defect = MUTANTS[name].defect
    assert defect[0].islower() and not defect.endswith(".") and len(defect) <= 110


def test_descriptions_are_unique():
    assert len(MUTANTS) >= 40
    assert len({mutant.defect for mutant in MUTANTS.values()}) == len(MUTANTS)
