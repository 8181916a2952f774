"""Walks of NewsOfTheClusterIsBelievedWhenItIsNewer: older epochs, new topics, failures, and idle topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suites.properties.property import Step, step

BEGIN = step("begin", version=12)
ASK = step("ask")
HEALTHY = ([(1, 3)], [(2, 3)], [(3, 3)])


def answer(views: Any = HEALTHY, *, gone: Sequence[str] = (), anew: Sequence[str] = ()) -> Step:
    return step("answer", views=views, gone=set(gone), anew=set(anew))


def hear(views: Any = HEALTHY, *, anew: Sequence[str] = ()) -> Step:
    return step("hear", views=views, anew=set(anew))


def wait(passed_ms: int) -> Step:
    return step("wait", passed_ms=passed_ms)


KNOWN = (BEGIN, step("use", topic="a"), ASK, answer())

WALKS: Mapping[str, Sequence[Step]] = {
    "an older epoch": (*KNOWN, hear(([(2, 2)], [(2, 3)], [(3, 3)]))),
    "a newer epoch": (*KNOWN, hear(([(2, 4)], [(2, 3)], [(3, 3)]))),
    "a topic that was created anew": (*KNOWN, hear(([(2, 0)], [(2, 3)], [(3, 3)]), anew=["a"])),
    "questions that bring nothing new": (
        *KNOWN,
        step("doubt"),
        ASK,
        wait(20),
        ASK,
        answer(),
        step("doubt"),
        ASK,
    ),
    "questions that fail": (
        *KNOWN,
        step("doubt"),
        wait(100),
        ASK,
        step("fail", empty=False),
        ASK,
        wait(20),
        ASK,
        step("fail", empty=True),
        wait(20),
        ASK,
        wait(20),
        ASK,
        answer(),
    ),
    "a topic that is wanted while a question is out": (
        BEGIN,
        step("use", topic="a"),
        ASK,
        step("use", topic="b"),
        answer(),
        ASK,
        answer(),
    ),
    "a topic that falls idle": (*KNOWN, wait(5_000), ASK, answer(), step("use", topic="b"), ASK, answer()),
    "an answer that is too old": (*KNOWN, wait(3_000), ASK, answer()),
    "a refusal names a newer leader": (*KNOWN, step("told_beside", topic="a", leader=2, newer=1)),
    "a refusal names an older leader": (*KNOWN, step("told_beside", topic="a", leader=2, newer=-1)),
    "a refusal names a stranger": (*KNOWN, step("told_beside", topic="a", leader=9, newer=1)),
}
