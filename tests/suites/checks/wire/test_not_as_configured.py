"""acks, codec, timestamps and offsets, compared with the settings that the client reports as applied."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.contract import Stats
from harness.model.rows import FrameKind
from harness.model.verdicts import Guarantee
from suites.checks.wire.not_as_configured import CHECK

WALL_NS = 1_795_370_000_000_000_000
T0_MS = 5_000_000


def found(told):
    return [(finding.anomaly, finding.requirement, finding.level) for finding in CHECK.run(told.evidence())]


def as_sent(told, at_ms=10, **changes):
    """Every Produce request has acks=all, and its batch has no codec and the time of its sending."""
    told.history.append(Stats(seq=0, mono_ns=T0_MS * 1_000_000, wall_ns=WALL_NS, sent=0, completed=0))
    for index, frame in enumerate(told.frames):
        if frame.produce and frame.kind is FrameKind.REQUEST:
            now_ms = WALL_NS // 1_000_000 + frame.t_ns // 1_000_000 - T0_MS
            batch = {
                "compression": "none",
                "first_timestamp_ms": now_ms,
                "max_timestamp_ms": now_ms,
            } | changes
            acks = batch.pop("acks", -1)
            parts = tuple(replace(part, **batch) for part in frame.produce)
            told.frames[index] = replace(frame, produce=parts, acks=acks)
    return told


def one(story, **changes):
    told = story(**changes)
    told.call(0)
    told.result(0, at_ms=20, offset=told.deliver([0], 0, at_ms=10))
    return told


@given(data=st.data(), guarantee=st.sampled_from([Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT]))
def test_faithful_trial_is_never_accused(faithful, data, guarantee):
    assert found(as_sent(data.draw(faithful(guarantee)))) == []


@pytest.mark.parametrize(
    ("changes", "accused"),
    [
        ({}, []),
        ({"acks": 1}, [("acks-not-applied", "PRD-SND-16", "MUST")]),
        ({"compression": "gzip"}, [("codec-not-applied", "PRD-SND-16", "SHOULD")]),
        ({"first_timestamp_ms": 0}, [("timestamps-outside", "PRD-ISP-09", "SHOULD")]),
        (
            {"max_timestamp_ms": WALL_NS // 1_000_000 + 100_000},
            [("timestamps-outside", "PRD-ISP-09", "SHOULD")],
        ),
        ({"acks": None, "compression": None, "first_timestamp_ms": None, "max_timestamp_ms": None}, []),
    ],
)
def test_traffic_must_match_the_settings(story, changes, accused):
    assert found(as_sent(one(story), **changes)) == accused


def test_setting_that_was_not_applied_is_not_judged(story):
    not_set = {"acks": "always all", "compression.type": "none"}

    assert found(as_sent(one(story, not_set=not_set), acks=1, compression="gzip")) == []


@pytest.mark.parametrize(("acks", "wire"), [("all", -1), ("-1", -1), ("1", 1), ("0", 0)])
def test_names_of_acks(story, acks, wire):
    assert found(as_sent(one(story, config={"acks": acks}), acks=wire)) == []


def test_unknown_clock_is_not_judged(story):
    told = as_sent(one(story), max_timestamp_ms=0)
    told.history = [event for event in told.history if not event.wall_ns]
    arises = {requirement.id: requirement.arises(told.evidence()) for requirement in CHECK.requirements}

    assert found(told) == []
    assert arises == {"PRD-SND-16": 1, "PRD-ISP-09": 0, "PRD-SND-01": 1}


def acknowledged(story, *places, **changes):
    told = story(**changes)
    for n, (partition, offset) in enumerate(places):
        told.call(n)
        told.deliver([n], 0, at_ms=10 + 5 * n)
        told.result(n, at_ms=12 + 5 * n, partition=partition, offset=offset)
    return as_sent(told)


MISSING = [("offset-missing", "PRD-SND-01", "SHOULD")]


@pytest.mark.parametrize(
    ("places", "accused"),
    [
        ([(0, 0), (0, 1)], []),
        ([(0, 0), (0, -1)], MISSING),
        ([(0, 0), (-1, -1)], MISSING),
        ([(-1, -1), (-1, -1)], MISSING),
    ],
)
def test_acks_requires_a_reported_offset(story, places, accused):
    assert found(acknowledged(story, *places)) == accused


@pytest.mark.parametrize(("acks", "found_of"), [("all", []), ("1", MISSING)])
def test_lost_record_has_no_offset(story, acks, found_of):
    """If losses are judged, the record counts as lost. Otherwise its offset counts as missing."""
    told = acknowledged(story, (0, 0), config={"acks": acks})
    if acks == "1":
        told.frames = [replace(frame, acks=1) if frame.acks == -1 else frame for frame in told.frames]
    told.call(1)
    told.result(1, at_ms=40, partition=0, offset=-1)

    assert found(told) == found_of


def test_without_acks_there_is_no_offset(story):
    told = acknowledged(story, (0, -1), config={"acks": "0"})
    told.frames = [replace(frame, acks=0) if frame.acks == -1 else frame for frame in told.frames]

    assert found(told) == []


def test_duplicate_sequence_has_no_offset(story):
    told = acknowledged(story, (0, -1))
    told.answer(0, -1, at_ms=50, error_code=46)
    assert found(told) == MISSING

    told.call(1)
    told.request([1], 1, at_ms=51, conn=2)
    told.append([1], 1)
    told.answer(1, -1, at_ms=52, conn=2, error_code=46)
    told.result(1, at_ms=53, partition=1)
    assert found(as_sent(told)) == MISSING

    told = story()
    told.call(0)
    told.request([0], 0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=46)
    told.result(0, at_ms=12, offset=-1)
    assert found(as_sent(told)) == []


@pytest.mark.parametrize(
    ("features", "places", "accused"),
    [
        (["producer"], [(0, 0), (-1, -1)], True),
        (["producer", "unplaced"], [(0, 0), (-1, -1)], False),
        (["producer", "unplaced"], [(0, 0), (0, -1)], True),
        (["producer", "unplaced"], [(-1, -1), (-1, -1)], True),
    ],
)
def test_only_an_adapter_that_says_so_may_omit_offsets(story, features, places, accused):
    told = story()
    for n, (partition, offset) in enumerate(places):
        told.call(n)
        told.deliver([n], 0, at_ms=10 + n)
        told.result(n, at_ms=20 + n, partition=partition, offset=offset)
    evidence = as_sent(told).evidence()
    said = replace(evidence.record, client=evidence.record.client | {"features": features})
    findings = CHECK.run(dataclasses.replace(evidence, record=said))

    assert [finding.anomaly for finding in findings] == (["offset-missing"] if accused else [])
