"""Made data of Fetch responses: batches as a log has them, and a driver of calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from clients.reference.consumer.calls import Call, Invoke
from harness.wire.records import BatchBuilder, Codec

PARTITION = ("t", 0)


def batch(
    base_offset: int,
    values: Iterable[bytes | None],
    *,
    codec: Codec = Codec.NONE,
    producer_id: int = -1,
    transactional: bool = False,
    epoch: int = 0,
    key: bytes | None = None,
) -> bytes:
    builder = BatchBuilder(codec)
    for value in values:
        builder.append(1_000, key, value)
    return builder.build(
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 0,
        base_sequence=-1 if producer_id < 0 else 0,
        base_offset=base_offset,
        partition_leader_epoch=epoch,
        transactional=transactional,
    )


def drive(call: Call[Any]) -> Any:
    """Run a call that needs no network, and return its result."""
    answer, error = None, None
    while True:
        try:
            step = call.send(answer) if error is None else call.throw(error)
        except StopIteration as end:
            return end.value
        assert isinstance(step, Invoke)
        try:
            answer, error = step.call(), None
        except Exception as raised:
            error = raised


@pytest.fixture(scope="session")
def make_batch() -> Any:
    return batch


@pytest.fixture(scope="session")
def run() -> Any:
    return drive
