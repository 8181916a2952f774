"""Walks of TransactionsAreVisibleAsAWhole: ends that are lost, records that fail, and aborts in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.wire.apis import Api
from suites.properties.property import Step, step


def start(*, is_v2: bool = True) -> Step:
    return step("start", is_v2=is_v2, linger_ms=0)


def send(partition: int = 0, count: int = 1, *, at_once: bool = True) -> Step:
    return step("send", partition=partition, count=count, at_once=at_once)


def end(*, commits: bool = True) -> Step:
    return step("end", commits=commits)


def fate(api: Api, what: int | str) -> Step:
    return step("prepare", fate=(api, what))


BEGIN, PAUSE = step("begin"), step("wait", passed_ms=401)
NEXT = (BEGIN, send(), end(), PAUSE)

WALKS: Mapping[str, Sequence[Step]] = {
    "a commit of two partitions": (start(), BEGIN, send(0, 2), send(1), end(), *NEXT),
    "a commit of two partitions without KIP-890": (
        start(is_v2=False),
        BEGIN,
        send(0, 2),
        send(1),
        end(),
        *NEXT,
    ),
    "a commit whose answer is lost": (
        start(),
        BEGIN,
        send(),
        fate(Api.END_TXN, "unanswered"),
        end(),
        PAUSE,
        *NEXT,
    ),
    "a record that fails behind one that is stored": (
        start(is_v2=False),
        BEGIN,
        send(),
        fate(Api.PRODUCE, 87),
        send(),
        end(),
        end(commits=False),
        PAUSE,
        *NEXT,
    ),
    "an abort of records that were not sent": (
        start(is_v2=False),
        BEGIN,
        send(),
        send(1, 2, at_once=False),
        end(commits=False),
        *NEXT,
    ),
    "a partition that cannot be added": (
        start(is_v2=False),
        BEGIN,
        send(),
        fate(Api.ADD_PARTITIONS_TO_TXN, 29),
        send(1),
        end(commits=False),
        PAUSE,
        *NEXT,
    ),
    "offsets of a member that is gone": (
        start(),
        BEGIN,
        send(),
        fate(Api.TXN_OFFSET_COMMIT, 25),
        step("send_offsets", offset=1),
        end(),
        end(commits=False),
        PAUSE,
        *NEXT,
    ),
}
