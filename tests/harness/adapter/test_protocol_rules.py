"""The rules of the contract: a faithful client breaks none, and every single violation is detected."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.adapter.life import LIFE, Life
from harness.adapter.protocol_rules import ProtocolRules, RuleBroken, Unknown
from harness.model.contract import STEP_OPS, ClientEvent, Close, Configure, Flush, Stats
from harness.workloads.produce.commands import Produce
from harness.workloads.transactions.commands import Transact
from testkit.codes import raises_code

BEGAN_NS = 1_000_000
NOW_NS = 9_000_000_000
Line = dict[str, Any]


def sends(id: int, first: int, count: int, cuts: list[int]) -> list[Line]:
    """Return the events of one produce command: one invocation, and results split into lines at ``cuts``."""
    lines: list[Line] = [{"name": "op_invoke", "op": "send", "id": id, "first": first, "count": count}]
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < count}), count]
    for low, high in pairwise(edges):
        rows = high - low
        lines.append(
            {
                "name": "op_complete",
                "op": "send",
                "id": id,
                "outcome": ["ok"] * rows,
                "error": [None] * rows,
                "invoke_ns": [BEGAN_NS] * rows,
                "complete_ns": [BEGAN_NS + 1] * rows,
                "records": list(range(first + low, first + high)),
                "partition": [0] * rows,
                "offset": list(range(rows)),
            }
        )
    return lines


def whole(op: str, id: int) -> list[Line]:
    """Return the events of a flush or close."""
    row = {"outcome": ["ok"], "error": [None], "invoke_ns": [BEGAN_NS], "complete_ns": [BEGAN_NS]}
    return [{"name": "op_invoke", "op": op, "id": id}, {"name": "op_complete", "op": op, "id": id, **row}]


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[Any], list[Line]]:
    """Draw commands and the lines of a faithful client in answer to them, in the order of writing."""
    commands: list[Any] = [Configure(1, "r", "p1", "producer", {}), Unknown("dance", 2)]
    lines: list[Line] = [
        {
            "name": "startup_complete",
            "client": "c",
            "client_version": "1",
            "language": "l",
            "features": [],
            "contract_version": 2,
        },
        {"name": "configured", "id": 1, "applied": {}, "not_set": {}},
        {"name": "unsupported", "cmd": "dance", "id": 2},
    ]
    first = 0
    for count in draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)):
        id = len(commands) + 1
        commands.append(Produce(id, "t", first, [None] * count, ["v"] * count))
        lines += sends(id, first, count, draw(st.lists(st.integers(1, 5), max_size=3)))
        lines += [{"name": "stats", "sent": first, "completed": 0}] * draw(st.integers(0, 1))
        first += count
    flush, close = len(commands) + 1, len(commands) + 2
    commands += [Flush(flush, 1), Close(close, 1)]
    return commands, [*lines, *whole("flush", flush), *whole("close", close), {"name": "shutdown_complete"}]


def listen(commands: list[Any], lines: list[Line]) -> ProtocolRules:
    """Feed lines to the rules, with sequence numbers and timestamps where they are missing."""
    rules = ProtocolRules(BEGAN_NS)
    for command in commands:
        rules.asked(command)
    for seq, line in enumerate(lines):
        stamp = {"seq": seq, "mono_ns": BEGAN_NS + 10 + seq, "wall_ns": 0}
        rules.said(json.dumps(stamp | line).encode(), NOW_NS)
    return rules


@given(conversations())
def test_a_faithful_client_breaks_no_rule(conversation):
    rules = listen(*conversation)
    assert rules.life is Life.SHUT_DOWN
    assert rules.outstanding == 0


@given(conversations(), st.data())
def test_a_missing_line_is_detected(conversation, data):
    commands, lines = conversation
    numbered = [{"seq": seq, **line} for seq, line in enumerate(lines)]
    del numbered[data.draw(st.integers(0, len(numbered) - 2))]
    with raises_code(RuleBroken, "seq-gap"):
        listen(commands, numbered)


@given(conversations(), st.data())
def test_a_repeated_line_is_refused_unless_it_is_a_heartbeat(conversation, data):
    commands, lines = conversation
    place = data.draw(st.sampled_from([i for i, line in enumerate(lines) if line["name"] != "stats"]))
    repeated = lines[place]
    if repeated["name"] == "op_invoke" and repeated["op"] != "send":
        repeated = {**repeated, "id": 99}  # announcing the same flush twice is harmless
    with pytest.raises(RuleBroken):
        listen(commands, [*lines[: place + 1], repeated, *lines[place + 1 :]])


@given(conversations(), st.data())
def test_a_result_of_a_record_that_was_not_invoked_is_refused(conversation, data):
    commands, lines = conversation
    place = data.draw(
        st.sampled_from([i for i, line in enumerate(lines) if line.get("op") == "send" and "records" in line])
    )
    spoiled = {**lines[place], "records": [n + 1_000 for n in lines[place]["records"]]}
    with raises_code(RuleBroken, "result-not-invoked"):
        listen(commands, [*lines[:place], spoiled, *lines[place + 1 :]])


@given(conversations(), st.data())
def test_columns_must_have_the_same_length(conversation, data):
    commands, lines = conversation
    place = data.draw(st.sampled_from([i for i, line in enumerate(lines) if line["name"] == "op_complete"]))
    columns = [name for name, value in lines[place].items() if isinstance(value, list)]
    column = data.draw(st.sampled_from(columns))
    spoiled = {**lines[place], column: lines[place][column] * 2}
    with pytest.raises(RuleBroken) as broken:
        listen(commands, [*lines[:place], spoiled, *lines[place + 1 :]])
    assert broken.value.code in {"column-length", "not-one-row"}


@given(conversations(), st.data())
def test_times_of_another_clock_are_refused(conversation, data):
    commands, lines = conversation
    place = data.draw(st.integers(0, len(lines) - 1))
    wrong = data.draw(st.sampled_from([0, BEGAN_NS - 1, NOW_NS + 1, 2**62]))
    spoiled = {**lines[place], "mono_ns": wrong}
    with raises_code(RuleBroken, "mono-ns-out-of-order"):
        listen(commands, [*lines[:place], spoiled, *lines[place + 1 :]])


@given(conversations(), st.sampled_from(["seq", "mono_ns", "wall_ns", "name"]), st.data())
def test_an_event_without_a_common_field_is_refused(conversation, field, data):
    commands, lines = conversation
    rules = ProtocolRules(BEGAN_NS)
    for command in commands:
        rules.asked(command)
    place = data.draw(st.integers(0, len(lines) - 1))
    with pytest.raises(RuleBroken):
        for seq, line in enumerate(lines):
            stamped = {"seq": seq, "mono_ns": BEGAN_NS + 10 + seq, "wall_ns": 0} | line
            if seq == place:
                del stamped[field]
            rules.said(json.dumps(stamped).encode(), NOW_NS)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_break_the_contract(line):
    with pytest.raises(RuleBroken):
        ProtocolRules(BEGAN_NS).said(line, NOW_NS)


def test_times_of_a_result_must_be_in_order_and_in_the_past():
    commands = [Configure(1, "r", "p1", "producer", {}), Produce(2, "t", 0, [None], ["v"])]
    [invoke, result] = sends(2, 0, 1, [])
    for invoke_ns, complete_ns in ((0, BEGAN_NS), (BEGAN_NS + 2, BEGAN_NS + 1), (BEGAN_NS, NOW_NS + 1)):
        spoiled = {**result, "invoke_ns": [invoke_ns], "complete_ns": [complete_ns]}
        with raises_code(RuleBroken, "interval-out-of-order"):
            listen(commands, [*STARTED, invoke, spoiled])


@given(
    st.dictionaries(st.sampled_from("abcd"), st.just(1)),
    st.sets(st.sampled_from("abcd")),
    st.sets(st.sampled_from("abcd")),
)
def test_every_setting_is_answered_exactly_once(config, applied, not_set):
    answer = {
        "id": 1,
        "applied": {name: (name, 1) for name in applied},
        "not_set": dict.fromkeys(not_set, "why"),
    }
    lines = [STARTED[0], {"name": "configured", **answer}]
    command = Configure(1, "r", "p1", "producer", config)
    if sorted([*applied, *not_set]) == sorted(config):
        assert listen([command], lines).life is Life.CONFIGURED
    else:
        with raises_code(RuleBroken, "settings-not-answered"):
            listen([command], lines)


CONFIGURE = Configure(1, "r", "p1", "producer", {})
TRANSACT = Transact(2, "t", 0, [None], ["v"], "commit", False)


@given(st.lists(st.sampled_from(STEP_OPS), max_size=8))
def test_steps_of_a_command_may_come_in_any_order_and_number(steps):
    [invoke, result] = [{**line, "op": "transact"} for line in sends(2, 0, 1, [])]
    between = [line for step in steps for line in whole(step, 2)]
    assert listen([CONFIGURE, TRANSACT], [*STARTED, invoke, *between, result]).outstanding == 0


@pytest.mark.parametrize("id", [1, 2, 3])
def test_a_step_of_no_command_that_has_it_is_refused(id):
    commands = [CONFIGURE, Produce(2, "t", 0, [None], ["v"])]
    with raises_code(RuleBroken, "step-unasked"):
        listen(commands, [*STARTED, *whole("commit_transaction", id)])


def test_a_step_is_one_row():
    [_, told] = whole("commit_transaction", 2)
    two = {name: value * 2 if isinstance(value, list) else value for name, value in told.items()}
    with raises_code(RuleBroken, "not-one-row"):
        listen([CONFIGURE, TRANSACT], [*STARTED, two])


def test_an_unknown_outcome_is_refused():
    commands = [Configure(1, "r", "p1", "producer", {}), Produce(2, "t", 0, [None], ["v"])]
    [invoke, result] = sends(2, 0, 1, [])
    with raises_code(RuleBroken, "outcome-unknown", found="maybe"):
        listen(commands, [*STARTED, invoke, {**result, "outcome": ["maybe"]}])


def test_an_unknown_event_is_listed_and_skipped():
    rules = listen([], [STARTED[0], {"name": "horoscope", "tomorrow": "rain"}])
    assert rules.unknown == ["horoscope"]
    assert rules.said(b'{"name": "horoscope without a number"}', NOW_NS) is None


def test_an_unrequested_close_is_accepted():
    assert listen([], [STARTED[0], *whole("close", -1), {"name": "shutdown_complete"}]).life is Life.SHUT_DOWN


EVENTS: dict[str, Line] = {
    "startup_complete": {
        "client": "c",
        "client_version": "1",
        "language": "l",
        "features": [],
        "contract_version": 2,
    },
    "configured": {"id": 1, "applied": {}, "not_set": {}},
    "op_invoke": {"op": "close", "id": -1},
    "op_complete": whole("close", -1)[1],
    "stats": {"sent": 0, "completed": 0},
    "fatal": {"error": "E", "message": "m"},
    "unsupported": {"cmd": "dance", "id": 2},
    "shutdown_complete": {},
    "partitions_assigned": {"partitions": [{"topic": "t", "partition": 0}]},
    "partitions_revoked": {"partitions": []},
    "partitions_lost": {"partitions": []},
    "records_consumed": {"count": 0, "partitions": [], "polled_ns": 0},
    "offsets_committed": {"offsets": [], "success": True, "how": "sync", "invoke_ns": 0, "complete_ns": 0},
    "consumer_error": {"call": "poll", "error": "E"},
}
STARTED: list[Line] = [{"name": name, **EVENTS[name]} for name in ("startup_complete", "configured")]

#: The events that lead to each state.
PATHS: dict[Life, list[str]] = {
    Life.STARTING: [],
    Life.UP: ["startup_complete"],
    Life.CONFIGURED: ["startup_complete", "configured"],
    Life.SHUT_DOWN: ["startup_complete", "shutdown_complete"],
    Life.DEAD: ["fatal"],
}


@pytest.mark.parametrize("life", Life)
@pytest.mark.parametrize("kind", get_args(ClientEvent))
def test_each_state_accepts_the_events_of_its_table_only(life, kind):
    name = kind.__struct_config__.tag
    commands = [Configure(1, "r", "p1", "producer", {}), Unknown("dance", 2)]
    path = [{"name": step, **EVENTS[step]} for step in PATHS[life]]
    assert listen(commands, path).life is life
    after = LIFE.get((life, kind))
    if after is None:
        with raises_code(RuleBroken, "event-out-of-phase", event=name, life=life.value):
            listen(commands, [*path, {"name": name, **EVENTS[name]}])
    else:
        assert listen(commands, [*path, {"name": name, **EVENTS[name]}]).life is after


def test_an_event_is_returned_unchanged():
    rules = ProtocolRules(BEGAN_NS)
    rules.said(json.dumps({"seq": 0, "mono_ns": BEGAN_NS, "wall_ns": 5, **STARTED[0]}).encode(), NOW_NS)
    line = b'{"name":"stats","seq":1,"mono_ns":1000001,"wall_ns":7,"sent":3,"completed":2,"extra":true}'
    assert rules.said(line, NOW_NS) == Stats(seq=1, mono_ns=1_000_001, wall_ns=7, sent=3, completed=2)


CONSUMED = {"topic": "t", "partition": 0, "count": 2, "minOffset": 3, "maxOffset": 5, "offsets": [3, 5]}


@pytest.mark.parametrize(
    "change",
    [
        {"count": 3},
        {"minOffset": 2},
        {"maxOffset": 6},
        {"offsets": [3]},
        {"values": ["a"]},
        {"keys": ["k"]},
        {"leader_epochs": [1]},
    ],
)
def test_columns_of_consumed_records_must_agree(change):
    commands, part = [Configure(1, "r", "i", "consumer", {})], {**CONSUMED, "values": ["a", None]}
    line = {"name": "records_consumed", "count": 2, "partitions": [part], "polled_ns": 0}
    listen(commands, [*STARTED, line])
    with raises_code(RuleBroken, "consumed-uneven"):
        listen(commands, [*STARTED, {**line, "partitions": [{**part, **change}]}])
