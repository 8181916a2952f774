"""The drawings and the selected wire lines: nothing is invented, and every omission is reported."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from harness.judging.frame_excerpt import AROUND, MAX_LINES, origin_ns, wire_lines
from harness.model.contract import OpComplete
from harness.model.rows import FaultRow, Finding, Frame, FrameKind, RequirementVerdict
from harness.model.spec import AtTime, FaultSpec
from reports.pages.drawing import MAX_MARKS
from reports.pages.log_order import log_order
from reports.pages.payload import MOST, packed, unpacked
from reports.pages.timeline import MAX_LANES, OUTCOMES, notes, timeline

Stories = Callable[..., Any]

OUTCOME_OF = {words.format(done="acknowledged"): name for name, (_, _, words) in OUTCOMES.items()}


def drawn(figure: dict[str, Any], words: str) -> dict[str, Any] | None:
    return next((trace for trace in figure["data"] if trace["name"] == words), None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_send_is_drawn_once_under_its_outcome(any_story: Stories, seed: int) -> None:
    evidence = any_story("one", Random(seed)).evidence()
    expected: dict[str, list[float]] = {}
    for send in evidence.operations.values():
        name = "pending" if send.pending else send.outcome.value
        expected.setdefault(name, []).append((send.invoke_ns - origin_ns(evidence)) / 1e6)
    figure = timeline(evidence, frozenset(), [])
    shown = {OUTCOME_OF[trace["name"]]: trace["x"] for trace in figure["data"] if trace["name"] in OUTCOME_OF}
    assert shown == expected
    assert all(y > 0 for trace in figure["data"] for y in trace["y"]), (
        "the logarithmic axis needs positive values"
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32), furthest=st.sampled_from([0, MOST - 100, MOST]))
def test_every_result_says_where_the_record_is(any_story: Stories, seed: int, furthest: int) -> None:
    told = any_story("one", Random(seed))
    told.history = [
        structs.replace(row, offset=[furthest + at if at >= 0 else at for at in row.offset])
        if isinstance(row, OpComplete)
        else row
        for row in told.history
    ]
    evidence = told.evidence()
    expected: dict[str, list[str]] = {}
    for send in evidence.operations.values():
        if not send.pending:
            place = f" → p{send.partition}@{send.offset}" if send.offset >= 0 else ""
            error = f" {send.error}" if send.error else ""
            expected.setdefault(send.outcome.value, []).append(f"record {send.n}{place}{error}")
    data = unpacked(packed(timeline(evidence, frozenset(), [])))["data"]
    shown = {OUTCOME_OF[trace["name"]]: trace["text"] for trace in data if trace["name"] in OUTCOME_OF}
    shown.pop("pending", None)
    assert shown == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_copy_is_drawn_once_and_first_copies_separately(any_story: Stories, seed: int) -> None:
    evidence = any_story("one", Random(seed)).evidence()
    figure = log_order(evidence)
    marks = sum(len(trace["x"]) for trace in figure["data"])
    again = sum(len(trace["x"]) for trace in figure["data"] if "further" in trace["name"])
    assert marks == sum(map(len, evidence.copies.values()))
    assert marks - again == len(evidence.copies)
    expected: dict[str, list[tuple[int, int]]] = {}
    for n, copies in evidence.copies.items():
        for before, record in enumerate(copies):
            name = f"p{record.partition}" + (", further copies" if before else "")
            expected.setdefault(name, []).append((record.offset, n))
    assert {
        trace["name"]: [*zip(trace["x"], trace["y"], strict=True)] for trace in figure["data"]
    } == expected


def test_planned_and_effective_windows_are_drawn_separately(story: Stories) -> None:
    told = story("one")
    start = origin_ns(told.evidence())
    spec = FaultSpec("latency", AtTime(10), 20)
    told.faults = [
        FaultRow(
            0, spec, (start + 10_000_000, start + 30_000_000), (start + 11_000_000, start + 31_000_000), 3
        ),
        FaultRow(1, spec, (start + 40_000_000, start + 60_000_000), None),
    ]
    layout = timeline(told.evidence(), frozenset(), [])["layout"]
    dashed = [(band["x0"], band["x1"]) for band in layout["shapes"] if band["line"].get("dash") == "dash"]
    filled = [band["x0"] for band in layout["shapes"] if "fillcolor" in band]
    assert dashed == [(10, 30), (40, 60)]
    assert filled == [11]
    assert "latency (never in effect)" in {label["text"] for label in layout["annotations"]}


def test_frames_are_grouped_by_kind(whole_story: Stories) -> None:
    story = whole_story("one", records=60)
    frames = story.frames
    first = next(number for number, frame in enumerate(frames) if frame.kind is FrameKind.REQUEST)
    answer = next(number for number, frame in enumerate(frames) if frame.kind is FrameKind.RESPONSE)
    frames[answer] = structs.replace(frames[answer], error_codes=(7,))
    frames.append(structs.replace(frames[-1], kind=FrameKind.CLOSE, closed_by="client", api=None))
    figure = timeline(story.evidence(), {first}, [])
    requests = sum(frame.kind is FrameKind.REQUEST for frame in frames)
    responses = sum(frame.kind is FrameKind.RESPONSE for frame in frames)
    counted = {trace["name"]: len(trace["x"]) for trace in figure["data"]}
    assert counted["Produce request"] == requests - 1
    assert counted["Produce request, sent again"] == 1
    assert counted["Produce response"] == responses - 1
    assert counted["response with an error"] == 1
    assert counted["connection closed"] == 1


def test_omitted_marks_are_counted(story: Stories) -> None:
    told = story("one")
    assert notes(told.evidence()) == []
    told.frames = [Frame(n, 0, 1, n, FrameKind.OPEN) for n in range(MAX_MARKS + 1)]
    assert notes(told.evidence()) == [
        f"The first {MAX_MARKS:,} of {MAX_MARKS + 1:,} frames are drawn.",
        f"The first {MAX_LANES} of {MAX_MARKS + 1} connections are drawn.",
    ]
    figure = timeline(told.evidence(), frozenset(), [])
    assert len(figure["layout"]["yaxis2"]["ticktext"]) == MAX_LANES
    bars = drawn(figure, "connection open")
    assert bars is not None
    assert len(bars["x"]) == 3 * MAX_LANES


def test_wire_lines_show_failures_and_the_edges_of_faults(whole_story: Stories) -> None:
    story = whole_story("one")
    sample = {"n": 1_999, "error": None}
    finding = Finding("lost", "one", 1, (sample, {"n": None}))
    story.requirements = (RequirementVerdict("E2E-DEL-01", "MUST", "fail", (finding,)),)
    evidence = story.evidence()
    lines = wire_lines(evidence, story.judgement(), {5})
    at = {line.at_ms for line in lines}
    moments = [
        evidence.operations[1_999].invoke_ns,
        *story.faults[0].effective_ns,
        *story.faults[1].effective_ns,
    ]
    for moment in moments:
        before = max(frame.t_ns for frame in evidence.frames if frame.t_ns < moment)
        assert round((before - origin_ns(evidence)) / 1e6, 3) in at
    assert [line.number for line in lines if line.again] == [5]
    assert {line.fault for line in lines} == {True, False}


def test_wire_lines_are_limited_ordered_and_gaps_are_marked(whole_story: Stories) -> None:
    story = whole_story("one")
    spec = FaultSpec("latency", AtTime(0), 1)
    story.faults = [
        FaultRow(n, spec, None, (frame.t_ns, frame.t_ns), 1) for n, frame in enumerate(story.frames[::30])
    ]
    lines = wire_lines(story.evidence(), story.judgement(), frozenset())
    numbers = [line.number for line in lines]
    assert numbers == sorted(set(numbers))
    assert MAX_LINES - 2 * AROUND < len(lines) <= MAX_LINES
    for before, line in pairwise(lines):
        assert line.gap == (line.number != before.number + 1)


@pytest.mark.parametrize("kind", list(FrameKind))
def test_every_kind_of_frame_has_a_line(story: Stories, kind: FrameKind) -> None:
    told = story("one")
    told.frames = [Frame(1, 0, 1, 1, kind, error_codes=(6,), note="cut short")]
    (line,) = wire_lines(told.evidence(), told.judgement(), frozenset())
    assert "NOT_LEADER_OR_FOLLOWER" in line.details
    assert "cut short" in line.details
