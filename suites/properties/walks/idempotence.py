"""Walks of EachRecordIsStoredOnceAndInOrder: refusals, losses and expiries with several batches in flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suites.properties.property import Step, step

STORES, REFUSES, REJECTS, TOO_LARGE, LIES, FORGOT = (
    "stores",
    "refuses",
    "rejects",
    "too large",
    "lies",
    "forgot",
)


def begin(limit: int = 5, first_epoch: int = 0) -> Step:
    return step("begin", limit=limit, first_epoch=first_epoch, linger_ms=0)


def send(partition: int = 0, count: int = 1) -> Step:
    return step("send", partition=partition, count=count)


def answer(first: str = STORES, second: str = STORES) -> Step:
    return step("answer", fates=(first, second))


def lose(reached: int = 0, *, comes_later: bool = False) -> Step:
    return step("lose", reached=reached, comes_later=comes_later)


def wait(passed_ms: int) -> Step:
    return step("wait", passed_ms=passed_ms)


#: The first batch of a chain is sent alone. Only after an acknowledged one can several be in flight.
KNOWN = (begin(), send(), answer())
EXPIRED = (wait(401), wait(900), wait(401))

WALKS: Mapping[str, Sequence[Step]] = {
    "two records in a batch": (begin(), send(count=2), answer()),
    "a batch is lost on its way": (*KNOWN, send(count=2), lose(), wait(45), answer()),
    "a stored batch whose answer is lost": (*KNOWN, send(count=2), lose(1), wait(45), answer()),
    "a refused batch with others behind it": (
        *KNOWN,
        send(),
        send(),
        send(),
        answer(REFUSES),
        answer(),
        answer(),
        wait(45),
        answer(),
        answer(),
        answer(),
    ),
    "a batch expires in flight and its answer is lost": (
        *KNOWN,
        send(),
        *EXPIRED,
        send(),
        wait(45),
        answer(),
    ),
    "a stored batch expires before its answer": (
        *KNOWN,
        send(),
        lose(1),
        *EXPIRED,
        send(),
        wait(45),
        answer(),
    ),
    "a batch expires and comes late": (
        *KNOWN,
        send(),
        lose(comes_later=True),
        *EXPIRED,
        step("arrive_late"),
        send(),
        wait(45),
        answer(),
    ),
    "a batch is rejected": (*KNOWN, send(), answer(REJECTS), send(), answer()),
    "a batch is rejected with another on its way": (
        *KNOWN,
        send(),
        send(),
        answer(REJECTS),
        lose(1),
        wait(45),
        answer(),
        answer(),
    ),
    "one partition is rejected while the other has two out": (
        begin(),
        send(0),
        answer(),
        send(1),
        answer(),
        send(0),
        send(1),
        send(1),
        answer(REJECTS),
        lose(1),
        wait(45),
        answer(),
        answer(),
        answer(),
    ),
    "the last epoch": (
        begin(first_epoch=32_767),
        send(),
        answer(),
        send(),
        answer(REJECTS),
        send(),
        answer(),
    ),
    "a batch is too large": (*KNOWN, send(count=2), send(), answer(TOO_LARGE), *3 * (wait(45), answer())),
    "the broker has lost its place": (*KNOWN, send(), answer(LIES), wait(45), answer()),
    "the broker has forgotten the producer": (*KNOWN, send(), answer(FORGOT), wait(45), answer()),
    "three batches in turn": (begin(), *3 * (send(), answer())),
}
