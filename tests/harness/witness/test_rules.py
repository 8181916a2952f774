"""Rules on single frames: frames are found, counted and changed in order, in any pieces of the stream."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.rows import Disposition, Frame, FrameKind, ProducePart
from harness.model.spec import FrameMatch
from harness.witness import actions
from harness.witness.actions import Behind, End, Held, Wait, Write
from harness.witness.frame_buffer import FrameBuffer
from harness.witness.rules import FrameRules
from harness.witness.send_queue import Finish, RowRecorded, SendQueue

LIMIT = 200

frames = st.lists(st.binary(min_size=4, max_size=LIMIT + 50), max_size=6).map(
    lambda payloads: [len(payload).to_bytes(4) + payload for payload in payloads]
)


def row(n: int = 1, **fields: Any) -> Frame:
    plain: dict[str, Any] = {
        "t_ns": n,
        "lane": 0,
        "broker": 1,
        "conn": 1,
        "kind": FrameKind.RESPONSE,
        "api": "Produce",
    }
    return Frame(**(plain | fields))


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


def spared(n: int) -> Frame:
    return row(n, note="not changed: no later frame overtook it")


# The frame buffer


@given(frames, st.lists(st.integers(0, 2_000)), st.binary(max_size=20))
def test_a_buffer_returns_all_bytes_in_order_and_small_frames_complete(
    sent: list[bytes], cuts: list[int], begun: bytes
) -> None:
    gate, given_out = FrameBuffer(LIMIT), []
    gate.shut(len(begun))
    stream = begun + b"".join(sent)
    for piece in pieces(stream, cuts):
        given_out += list(gate.feed(piece))
    assert b"".join(data for data, _ in given_out) == stream
    assert [data for data, whole in given_out if whole] == [f for f in sent if len(f) <= LIMIT + 4]
    assert gate.held_bytes == 0


@given(frames, st.integers(0, 2_000), st.lists(st.integers(0, 2_000)))
def test_an_incomplete_frame_is_returned_at_the_end(sent: list[bytes], end: int, cuts: list[int]) -> None:
    gate, stream = FrameBuffer(LIMIT), b"".join(sent)
    stream = stream[: end % (len(stream) + 1)]
    given_out = [data for piece in pieces(stream, cuts) for data, _ in gate.feed(piece)]
    assert b"".join(given_out) + gate.rest() == stream


@pytest.mark.parametrize("size", [-1, 0, 3, 2**31 - 1])
def test_bytes_that_are_not_a_frame_pass_at_once(size: int) -> None:
    gate = FrameBuffer(LIMIT)
    assert list(gate.feed(size.to_bytes(4, signed=True) + b"abc")) == [
        (size.to_bytes(4, signed=True) + b"abc", False)
    ]
    assert list(gate.feed(b"more")) == [(b"more", False)]


@given(st.binary(max_size=30), st.integers(0, 9))
def test_a_buffer_that_has_given_up_holds_nothing(held: bytes, rest_bytes: int) -> None:
    gate = FrameBuffer(LIMIT)
    gate.shut(rest_bytes)
    given_out = b"".join(data for data, _ in gate.feed(held))
    assert given_out + gate.give_up() == held
    assert not gate.is_shut and list(gate.feed((90).to_bytes(4))) == [((90).to_bytes(4), False)]


# The rules


@given(first=st.integers(1, 6), count=st.integers(1, 4), total=st.integers(0, 12))
def test_a_rule_takes_exactly_its_frames(first: int, count: int, total: int) -> None:
    rules = FrameRules()
    rules.arm("it", FrameMatch("Produce", first=first, count=count), actions.DROP)
    taken = []
    for n in range(1, total + 1):
        assert rules.take(row(n, api="Metadata")) is None
        if rules.take(row(n)):
            taken.append(n)
    assert taken == [n for n in range(first, first + count) if n <= total]


@pytest.mark.parametrize(
    ("narrowed", "fits", "differs"),
    [
        ({"version": 9}, {"api_version": 9}, {"api_version": 8}),
        ({"client_id": "p1"}, {"client_id": "p1"}, {"client_id": "p2"}),
        ({"error_code": 6}, {"error_codes": (3, 6)}, {"error_codes": (3,)}),
        ({"error_code": 0}, {"error_codes": ()}, {"error_codes": (6,)}),
        ({"connection": 2}, {"conn": 2}, {"conn": 1}),
        ({"direction": "request"}, {"kind": FrameKind.REQUEST}, {}),
        ({"partition": 1}, {"produce": (ProducePart("t", 1),)}, {"produce": (ProducePart("t", 0),)}),
    ],
)  # fmt: skip
def test_a_match_requires_each_given_field(
    narrowed: dict[str, Any], fits: dict[str, Any], differs: dict[str, Any]
) -> None:
    rules = FrameRules()
    rules.arm("it", FrameMatch("Produce", count=9, **narrowed), actions.DROP)
    assert rules.take(row(**differs)) is None
    taken = rules.take(row(**fits))
    assert taken is not None and taken.name == "it"


def test_only_the_first_rule_acts_but_each_counts() -> None:
    rules = FrameRules()
    rules.arm("one", FrameMatch("Produce"), actions.DROP)
    rules.arm("two", FrameMatch("Produce", first=2), actions.TWICE)
    taken = [rules.take(row(n)) for n in (1, 2, 3)]
    assert [rule and rule.name for rule in taken] == ["one", "two", None]
    with pytest.raises(ValueError, match="armed already"):
        rules.arm("one", FrameMatch("Produce"), actions.DROP)
    rules.disarm("one")
    rules.disarm("one")
    rules.arm("one", FrameMatch("Produce"), actions.DROP)
    assert list(rules.armed) == ["two", "one"]


# The send queue

steps = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=5).map(Write),
        st.integers(0, 50).map(Wait),
        st.sampled_from(["a", "b"]).map(Held),
    ),
    max_size=5,
)


@given(st.lists(steps, max_size=5), st.lists(st.integers(0, 60), max_size=8))
def test_all_data_leaves_in_order_before_the_end(
    frames_steps: list[list[actions.Step]], looks: list[int]
) -> None:
    outbox, now_ns, left = SendQueue(), 0, []
    for frame_steps in frames_steps:
        outbox.add(frame_steps)
    outbox.finish()
    for later_ns in looks:
        now_ns += later_ns
        left += list(outbox.due(now_ns, armed={"b"}))
    while not outbox.is_empty:
        now_ns = max(now_ns, outbox.due_ns or 0)
        left += list(outbox.due(now_ns, armed=()))
    assert left == [step for each in frames_steps for step in each if isinstance(step, Write)] + [Finish()]
    assert outbox.waiting_bytes == 0


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(0, 30))
def test_waits_add_up_without_the_delay_of_the_loop(waits_ns: list[int], late_ns: int) -> None:
    outbox = SendQueue()
    outbox.add([step for wait_ns in waits_ns for step in (Wait(wait_ns), Write(b"."))])
    assert not list(outbox.due(100, ()))
    assert outbox.due_ns == 100 + waits_ns[0]
    before = list(outbox.due(100 + sum(waits_ns) - 1, ()))
    assert len(before) == len(waits_ns) - 1
    assert len(list(outbox.due(100 + sum(waits_ns) + late_ns, ()))) == 1


def test_frames_after_a_held_one_wait_until_its_rule_is_disarmed() -> None:
    outbox = SendQueue()
    outbox.add([Held("gate"), Write(b"one")])
    outbox.add([Write(b"two")])
    assert not list(outbox.due(10, {"gate"})) and outbox.due_ns is None and outbox.waiting_bytes == 6
    assert list(outbox.due(10, {"other"})) == [Write(b"one"), Write(b"two")]


def test_a_frame_is_overtaken_by_the_next_one_but_not_by_the_end() -> None:
    outbox, armed = SendQueue(), {"swap"}
    outbox.add([Behind(b"one", "swap")])
    assert not list(outbox.due(1, armed)) and not outbox.is_empty
    outbox.add([Write(b"two")])
    assert list(outbox.due(2, armed)) == [Write(b"two"), Write(b"one")]
    outbox.add([Behind(b"three", "swap")])
    outbox.finish()
    assert list(outbox.due(3, armed)) == [Write(b"three"), Finish()]


def test_a_frame_waits_to_be_overtaken_only_while_its_rule_is_armed() -> None:
    outbox = SendQueue()
    outbox.add([Held("hold"), Write(b"one")])
    outbox.add([Behind(b"two", "swap")], row(2))
    assert not list(outbox.due(1, {"hold"}))
    assert list(outbox.due(2, ())) == [Write(b"one"), Write(b"two"), RowRecorded(spared(2))]
    assert outbox.is_empty


@pytest.mark.parametrize("steps", [[], [Behind(b"two", "swap")]], ids=["gone", "kept too"])
def test_a_frame_that_does_not_pass_overtakes_none(steps: list[actions.Step]) -> None:
    outbox = SendQueue()
    outbox.add([Behind(b"one", "swap")], row(1, fault="swap", disposition=Disposition.DELAYED))
    outbox.add(steps, row(2))
    assert RowRecorded(spared(1)) in list(outbox.due(1, {"swap"}))


@pytest.mark.parametrize("steps", [[Write(b"two")], [Wait(0), Write(b"two")], [Held("other"), Write(b"two")]])
def test_an_overtaken_frame_counts_as_affected(steps: list[actions.Step]) -> None:
    outbox, late = SendQueue(), row(1, fault="swap", disposition=Disposition.DELAYED)
    outbox.add([Behind(b"one", "swap")], late)
    outbox.add(steps, row(2))
    assert [step.row for step in outbox.due(1, ()) if isinstance(step, RowRecorded)] == [row(2), late]


def test_nothing_passes_after_an_end() -> None:
    outbox = SendQueue()
    outbox.add([Write(b"one"), End(reset=True)], row(1))
    outbox.add([Write(b"two")], row(2))
    outbox.add([Behind(b"three", "swap")], row(3))
    outbox.finish()
    assert list(outbox.due(1, {"swap"})) == [Write(b"one"), RowRecorded(row(1)), End(reset=True)]
    assert outbox.clear() == [row(2), row(3)]
    assert outbox.is_empty and outbox.waiting_bytes == 0


@given(st.lists(steps, max_size=5), st.integers(0, 100), st.sets(st.sampled_from(["a", "b"])))
def test_every_row_is_recorded_or_returned_in_order(
    frames_steps: list[list[actions.Step]], now_ns: int, armed: set[str]
) -> None:
    outbox = SendQueue()
    for n, frame_steps in enumerate(frames_steps):
        outbox.add(frame_steps, row(n))
    told = [step.row for step in outbox.due(now_ns, armed) if isinstance(step, RowRecorded)]
    assert told + outbox.clear() == [row(n) for n in range(len(frames_steps))]
    assert outbox.is_empty and outbox.due_ns is None and outbox.waiting_bytes == 0
    outbox.add([Write(b"later")])
    assert list(outbox.due(now_ns, armed)) == [Write(b"later")]


# The actions

FRAME = (12).to_bytes(4) + bytes(range(12))


@given(st.integers(0, 40), st.booleans())
def test_a_torn_frame_is_never_complete(at_byte: int, reset: bool) -> None:
    head, end = actions.tear(at_byte, reset=reset).steps(FRAME, row())
    assert isinstance(head, Write) and end == End(reset)
    assert FRAME.startswith(head.data) and len(head.data) == min(at_byte, 15)


@given(st.integers(1, 20), st.integers(0, 5))
def test_slices_make_up_the_frame(size_bytes: int, gap_ns: int) -> None:
    made = actions.slices(size_bytes, gap_ns).steps(FRAME, row())
    assert b"".join(step.data for step in made if isinstance(step, Write)) == FRAME
    assert all(len(step.data) <= size_bytes for step in made if isinstance(step, Write))
    assert isinstance(made[0], Write) and isinstance(made[-1], Write)


@pytest.mark.parametrize(("action", "kept"), [(actions.HOLD, Held("r")), (actions.SWAP, Behind(FRAME, "r"))])
def test_a_kept_frame_names_the_rule_that_releases_it(action: actions.Action, kept: actions.Step) -> None:
    assert action.steps(FRAME, row(fault="r"))[0] == kept


def test_a_rewritten_frame_has_its_new_size() -> None:
    assert actions.rewritten(lambda payload, _: payload + b"!").steps(FRAME, row()) == [
        Write((13).to_bytes(4) + bytes(range(12)) + b"!")
    ]
