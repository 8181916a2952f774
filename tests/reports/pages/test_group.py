"""The figure and the tables of a group: nothing is invented, each omission is told, hostile names are texts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.consumer_contract import OffsetsCommitted, RecordsConsumed
from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from harness.simulated.judged import simulate
from reports.pages.drawing import MAX_MARKS
from reports.pages.group.figure import figure, notes
from reports.pages.group.lines import MAX_POINTS
from reports.pages.group.ownership import Owned, pieces
from reports.pages.group.story import MAX_MEMBERS, MAX_PARTITIONS, Story
from reports.pages.group.tables import member_rows, partition_rows
from reports.pages.payload import packed, unpacked
from tests.suites.checks.consume.group_stories import calm
from tests.suites.checks.consume.group_story import GroupStory, ns

HOSTILE = "<img src=x onerror='alert(1)'>"
#: The largest page data of a trial, however long it was, in bytes.
MAX_BYTES = 1_000_000


def drawn(evidence: Evidence) -> dict[str, Any]:
    return figure(evidence, Story.of(evidence))


def bands(evidence: Evidence) -> set[tuple[str, float, float, str]]:
    """Return process, begin and end in ms, and the words of each band."""
    return {
        (each["name"], base, round(base + length, 3), text)
        for each in drawn(evidence)["data"]
        if each["type"] == "bar" and each["yaxis"] == "y2" and "text" in each
        for base, length, text in zip(each["base"], each["x"], each["hovertext"], strict=True)
    }


def points(evidence: Evidence, name: str) -> int:
    return sum(len(each["x"]) for each in drawn(evidence)["data"] if each["name"] == name)


def numbers(evidence: Evidence, partition: int) -> Any:
    return partition_rows(Story.of(evidence))[partition]


def test_every_ownership_is_a_band_in_its_generation() -> None:
    begins = {(name, begin) for name, begin, _, _ in bands(calm().evidence())}
    assert begins == {("m1", -500.0), ("m1", 1_600.0), ("m2", 1_600.0)}
    words = {text.split(",")[0] for *_, text in bands(calm().evidence())}
    assert {"p0: m1 in generation 1", "p0: m1 in generation 2", "p1: m2 in generation 2"} <= words


def test_a_band_ends_when_the_process_does() -> None:
    told = calm()
    told.start("m3", at_ms=4_500)
    told.assign("m3", 1, at_ms=5_000, generation=3)
    told.kill("m3", 5_500)
    assert ("m3", 5_000.0, 5_500.0) in {each[:3] for each in bands(told.evidence())}
    last = member_rows(Story.of(told.evidence()))[-1]
    assert (last.process, last.ended, last.ended_ms) == ("m3", "killed", 5_500)


@pytest.mark.parametrize(
    ("generation", "name"), [(1, "two owners in one generation"), (2, "an older owner goes on")]
)
def test_two_owners_share_the_height_and_have_an_outline(generation: int, name: str) -> None:
    told = GroupStory()
    told.start("m1", "m2")
    told.assign("m1", 0, at_ms=0, generation=1)
    told.assign("m2", 0, at_ms=1_000, generation=generation)
    told.revoke("m1", 0, at_ms=3_000)
    evidence = told.evidence()
    heights = {
        (each["name"], base): width
        for each in drawn(evidence)["data"]
        if each["type"] == "bar" and each["yaxis"] == "y2" and "text" in each
        for base, width in zip(each["base"], each["width"], strict=True)
    }
    assert heights["m1", 1_000.0] == heights["m2", 1_000.0] == heights["m1", 0.0] / 2
    assert points(evidence, name) == 1
    assert numbers(evidence, 0).shared_ms == 2_000
    assert points(calm().evidence(), name) == 0


def test_lag_and_what_came_again_are_counted() -> None:
    told = GroupStory()
    told.start("m1", "m2")
    told.write(10, 0, at_ms=100)
    told.take("m1", 0, 0, 1, 2, 3, at_ms=200)
    told.take("m2", 0, 2, 3, 4, at_ms=300)
    told.commit("m2", 0, 5, at_ms=320)
    told.commit("m2", 0, 6, at_ms=340, success=False)
    told.stored(p0=5)
    row = numbers(told.evidence(), 0)
    assert (row.written, row.position, row.again) == (10, 5, 2)
    assert row.lag == (10, 100)
    assert (row.committed, row.failed, row.stored) == (1, 1, 5)
    assert points(told.evidence(), "delivered again") == 1
    assert points(told.evidence(), "commit failed") == points(told.evidence(), "committed") == 1


def test_a_frozen_process_is_marked() -> None:
    told = calm()
    told.freeze("m1", 2_000, 3_500)
    story = Story.of(told.evidence())
    assert member_rows(story)[0].frozen_ms == 1_500
    assert points(told.evidence(), "frozen") == 1


def test_generations_are_those_that_the_coordinator_told() -> None:
    evidence, _ = simulate("group/join-new-protocol", "reference", 5, "scripted:4.3.1x1")
    story = Story.of(evidence)
    told = {
        part.epoch
        for frame in evidence.frames
        if frame.api == "ConsumerGroupHeartbeat" and frame.kind is FrameKind.RESPONSE
        for part in frame.members
        if part.epoch is not None and part.epoch >= 0
    }
    of_members = {number for each in story.members.values() for _, number in each.generations}
    assert of_members == told and len(told) > 2
    assert story.generation == "epoch"


@pytest.mark.parametrize("scenario", ["group/kill", "group/freeze", "group/join-cooperative"])
def test_the_numbers_are_those_of_the_trial(scenario: str) -> None:
    evidence, verdict = simulate(scenario, "reference", 7, "scripted:4.3.1x1")
    story = Story.of(evidence)
    rows = partition_rows(story)
    taken = sum(event.count for event in evidence.history if isinstance(event, RecordsConsumed))
    assert sum(row.records for row in member_rows(story)) == taken
    assert sum(row.written for row in rows) == verdict.counts["written"]
    made = [
        event.success
        for event in evidence.history
        if isinstance(event, OffsetsCommitted)
        for _ in event.offsets
    ]
    assert sum(row.committed for row in rows) == sum(made)
    assert sum(row.failed for row in rows) == len(made) - sum(made)
    assert notes(story) == []


def test_a_long_trial_has_a_bounded_figure_that_says_so() -> None:
    told = GroupStory(partitions=40, end_ms=2_000_000, final_ms=1_900_000)
    told.start(*(f"m{number}" for number in range(1, 31)))
    told.silent = set(told.members)
    for turn in range(400):
        for partition in range(30):
            at_ms = turn * 100
            told.assign(f"m{turn % 30 + 1}", partition, at_ms=at_ms, generation=turn)
            told.take(f"m{turn % 30 + 1}", partition, turn, at_ms=at_ms + 10, value="x")
            told.commit(f"m{turn % 30 + 1}", partition, turn + 1, at_ms=at_ms + 20)
    evidence = told.evidence()
    story = Story.of(evidence)
    said = " ".join(notes(story))
    assert all(word in said for word in ("process", "partition", "ownership", "Lines leave out steps"))
    found = figure(evidence, story)
    assert len(packed(found)) < MAX_BYTES
    lines = [each for each in found["data"] if each["type"] == "scatter" and each.get("mode") == "lines"]
    assert 0 < sum(len(each["x"]) for each in lines) < 3 * MAX_POINTS
    assert max(len(each["x"]) for each in found["data"]) <= MAX_MARKS + MAX_PARTITIONS
    assert len(member_rows(story)) == MAX_MEMBERS and len(partition_rows(story)) == MAX_PARTITIONS


def test_a_hostile_name_is_a_text() -> None:
    told = calm()
    told.start("m3", at_ms=600, companion=HOSTILE)
    told.commit("m1", 0, 7, at_ms=4_100, success=False, how=HOSTILE)
    evidence = told.evidence()
    evidence = Evidence(
        replace(evidence.record),
        evidence.history,
        (Frame(t_ns=ns(1), lane=0, broker=1, conn=1, kind=FrameKind.OPEN, client_id=HOSTILE),),
        evidence.faults,
        evidence.log,
    )
    text = str(unpacked(packed(drawn(evidence))))
    assert "<img" not in text and "&lt;img" in text


ownerships = st.lists(
    st.builds(
        lambda process, begin, length: Owned(f"m{process}", 0, begin, begin + length),
        st.integers(1, 3),
        st.integers(0, 30),
        st.integers(0, 10),
    ),
    max_size=8,
)


@settings(deadline=None)
@given(ownerships)
def test_pieces_cover_what_was_owned_and_nothing_else(found: list[Owned]) -> None:
    cut = list(pieces(found))
    assert all(before.end_ns <= after.begin_ns for before, after in pairwise(cut))
    for at in range(42):
        owners = [each for each in found if each.begin_ns <= at < each.end_ns]
        here = [piece for piece in cut if piece.begin_ns <= at < piece.end_ns]
        assert [set(map(id, piece.owners)) for piece in here] == ([set(map(id, owners))] if owners else [])
