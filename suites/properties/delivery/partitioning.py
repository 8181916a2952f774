"""Which partition a record goes to: the one that it names, the one of its key, or one that fills batches."""

from __future__ import annotations

from itertools import count, groupby

from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.producer.send_handle import Delivery
from suites.properties.property import client_property, example
from suites.properties.simulation import Simulation

BATCH_BYTES, VALUE_BYTES = 1_000, 90
#: The largest size of a keyless record in a batch: its value, its lengths and its offsets.
MOST_RECORD_BYTES = VALUE_BYTES + 20
#: Multiples of it, modulo 1, are spread evenly from the start, so that no partition is left out by chance.
GOLDEN = (5**0.5 - 1) / 2
KEYS = st.lists(st.binary(max_size=12), min_size=1, max_size=8)


def partition_of(delivery: Delivery) -> int:
    """Return the partition of a record that must have been placed at once."""
    assert delivery.batch is not None, f"the record is in no batch: {delivery.error}"
    return delivery.batch.partition[1]


def murmur2(key: bytes) -> int:
    """Return the 32-bit MurmurHash2 of a key with Kafka's seed.

    It is written from the algorithm's description: words of four bytes, mixed, and the rest.
    """
    multiplier, bits = 0x5BD1E995, 2**32
    hashed = 0x9747B28C ^ len(key)
    rest = len(key) % 4
    for at in range(0, len(key) - rest, 4):
        word = int.from_bytes(key[at : at + 4], "little") * multiplier % bits
        hashed = hashed * multiplier % bits ^ (word ^ word >> 24) * multiplier % bits
    for place in reversed(range(rest)):
        hashed ^= key[len(key) - rest + place] << 8 * place
    if rest:
        hashed = hashed * multiplier % bits
    hashed = (hashed ^ hashed >> 13) * multiplier % bits
    return hashed ^ hashed >> 15


@client_property("PRD-ISP-06", keys=KEYS, partitions=st.integers(1, 7), named=st.integers(0, 6))
@example(keys=[b"", b"1", b"12", b"123", b"1234", b"12345"], partitions=7, named=3)
def a_key_has_the_partition_that_java_gives_it(
    components: Components, keys: list[bytes], partitions: int, named: int
) -> None:
    """A record goes to the partition that it names, else to that of the low 31 bits of its key's hash.

    This holds for an empty key too.
    """
    simulation = Simulation(components, partitions=partitions)
    simulation.warm()
    for key in keys:
        expected = murmur2(key) % 2**31 % partitions
        assert partition_of(simulation.send(key=key)) == expected, f"key {key!r} of {partitions} partitions"
        assert partition_of(simulation.send(key=key)) == expected, f"key {key!r} once more"
        assert partition_of(simulation.send(key=key, partition=named % partitions)) == named % partitions


@client_property("PRD-ISP-07", seed=st.integers(0, 2**32), partitions=st.integers(2, 6))
def keyless_records_fill_a_batch_before_they_move(components: Components, seed: int, partitions: int) -> None:
    """Records without a key stay in a partition for about batch.size bytes, and then go to others."""
    throws = count(seed)
    simulation = Simulation(
        components,
        {"batch.size": BATCH_BYTES, "linger.ms": 10_000, "partitioner.adaptive.partitioning.enable": False},
        partitions=partitions,
        jitter=lambda: 2 * (next(throws) * GOLDEN % 1) - 1,
    )
    simulation.warm(partition=0)
    places = [
        partition_of(simulation.send(bytes(VALUE_BYTES))) for _ in range(60 * BATCH_BYTES // VALUE_BYTES)
    ]
    runs = [len(list(run)) for _, run in groupby(places)]
    least = BATCH_BYTES // MOST_RECORD_BYTES
    assert len(runs) > 1, "records never leave their partition"
    assert min(runs[:-1]) >= least, f"{min(runs[:-1])} records in a row, at least {least} fill a batch"
    assert set(places) == set(range(partitions)), f"of {partitions} partitions only {set(places)} got records"
