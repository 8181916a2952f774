"""Walks of MemoryIsLentInTurnAndReturnedOnce: a queue for memory, and memory that is returned twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suites.properties.property import Step, step

BEGIN = step("begin", total_bytes=60)


def allocate(size_bytes: int) -> Step:
    return step("allocate", size_bytes=size_bytes)


WALKS: Mapping[str, Sequence[Step]] = {
    "a small request behind a large one": (
        BEGIN,
        allocate(40),
        allocate(40),
        allocate(10),
        step("give_back", which=0),
    ),
    "the first in line gives up": (
        BEGIN,
        allocate(40),
        allocate(40),
        allocate(10),
        step("give_up", which=0),
    ),
    "memory is returned twice": (
        BEGIN,
        allocate(40),
        step("give_back", which=0),
        step("give_back_twice", which=0),
    ),
    "a batch grows while others wait": (
        BEGIN,
        allocate(40),
        step("grow", which=0, more_bytes=10),
        allocate(40),
        step("grow", which=0, more_bytes=5),
        step("shrink", which=0, size_bytes=20),
    ),
}
