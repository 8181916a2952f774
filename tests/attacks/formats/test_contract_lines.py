"""Each line that a client writes is an event, is ignored, or breaks the contract with one error message."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import crc32c
import msgspec
import pytest
from hypothesis import example, given

from harness.adapter import trace_file
from harness.adapter.discreet import discreet
from harness.adapter.protocol_rules import Life, ProtocolRules, RuleBroken
from harness.limits.meter import Meter, OverLimit
from harness.model.consumer_contract import ConsumerCommand, ConsumerEvent
from harness.model.contract import AnyEvent, Close, Command, Configure, Flush
from harness.model.errors import ClientBroken
from harness.model.payload import Identity, decode, encode
from harness.workloads.produce.commands import Produce
from testkit.codes import raises_code
from tests.attacks.formats import consumer_lines
from tests.attacks.formats.consumer_lines import at, done
from tests.attacks.formats.documents import json_lines
from tests.attacks.formats.edits import EDITS, Edits, many
from tests.attacks.formats.hostile_values import Raw

NOW_NS = 10**6
CONFIG: dict[str, Any] = {"acks": "all", "linger.ms": 5, "enable.idempotence": True}
COMMANDS: tuple[Command, ...] = (
    Configure(1, "r", "p1", "producer", CONFIG),
    Produce(2, "t", 0, ["k", None, "k"], ["v", "v", "v"]),
    Flush(3, 1_000),
    Close(4, 1_000),
)


def result(n: int, name: str, **fields: Any) -> dict[str, Any]:
    """Return a result in the format of Kafka's own verifiable clients."""
    return {"name": name, "value": encode(Identity("r", "t", "p1", n), 60), **fields}


LINES = [
    at(
        *(0, "startup_complete"), client="c", client_version="1", language="l", features=["producer"],
        contract_version=2, library_version=None,
    ),
    at(1, "configured", id=1, applied={name: [name, value] for name, value in CONFIG.items()}, not_set={}),
    at(2, "op_invoke", op="send", id=2, first=0, count=3),
    at(
        *(3, "op_complete"), op="send", id=2, outcome=["ok"], error=[None], invoke_ns=[102], complete_ns=[103],
        records=[0], partition=[1], offset=[7],
    ),
    result(1, "producer_send_success", partition=0, offset=8),
    result(2, "producer_send_error", exception="Timeout", message="late"),
    at(4, "stats", sent=3, completed=3),
    at(5, "news", of="nothing"),
    at(6, "unsupported", cmd="flush", id=3),
    at(7, "op_invoke", op="close", id=4),
    at(8, "op_complete", **done("close", 4)),
    at(9, "shutdown_complete"),
]  # fmt: skip
NESTED: Edits = ([("replace", 1, 0, Raw(b"[" * 100_000))], [])
HUGE_NUMBER: Edits = ([("replace", 3, 0, Raw(b"9" * 5_000))], [])
INVALID_UTF8: Edits = ([("replace", 2, 0, Raw(b'"\xff"'))], [])
HALF_SURROGATE: Edits = ([("replace", 5, 0, "\ud800")], [])


#: Role -> the commands of a client, and the lines that it writes.
ROLES: dict[str, tuple[tuple[Command, ...], list[dict[str, Any]]]] = {
    "producer": (COMMANDS, LINES),
    "consumer": (consumer_lines.COMMANDS, consumer_lines.LINES),
}


def read_life(lines: bytes, role: str = "producer") -> tuple[Life, list[AnyEvent]]:
    """Return the final state and the events of a client that writes these lines."""
    rules, events = ProtocolRules(began_ns=0), []
    for command in ROLES[role][0]:
        rules.asked(command)
    for line in lines.split(b"\n"):
        if line and (event := rules.said(line, NOW_NS)) is not None:
            events.append(discreet(event))
    assert rules.outstanding >= 0
    return rules.life, events


@pytest.mark.parametrize("role", ROLES)
@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
@example(HALF_SURROGATE)
def test_edited_lines_are_events_or_break_the_contract(survives, role, edits):
    survived = survives(lambda: read_life(json_lines(ROLES[role][1], edits), role), RuleBroken)
    if survived is not None:
        stored = msgspec.json.Encoder().encode_lines(survived[1])
        again = msgspec.json.Decoder(AnyEvent).decode_lines(stored)
        assert len(again) == len(survived[1])


@pytest.mark.parametrize("role", ROLES)
def test_unedited_lines_keep_the_contract(role):
    lines = ROLES[role][1]
    life, events = read_life(json_lines(lines, ([], [])), role)
    assert life is Life.SHUT_DOWN and len(events) == len(lines) - 1


def test_lines_of_a_consumer_have_every_event_and_command():
    commands, lines = ROLES["consumer"]
    _, events = read_life(json_lines(lines, ([], [])), "consumer")
    assert set(ConsumerEvent.__args__) <= {type(event) for event in events}
    assert set(ConsumerCommand.__args__) <= {type(command) for command in commands}
    answered = {line["id"] for line in lines if line["name"] in ("op_complete", "unsupported", "configured")}
    assert answered == {command.id for command in commands}


@pytest.mark.parametrize("field", ["partition", "offset"])
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**400], ids=["high", "low", "huge"])
def test_result_out_of_column_range_breaks_the_contract(field, value):
    """Such a result used to be stored, and its trial could not be read again."""
    result = {**LINES[4], field: value}
    with raises_code(RuleBroken, "upstream-misfit", why=re.compile(f"{field}|out of range")):
        read_life(json_lines([*LINES[:4], result], ([], [])))


def test_huge_number_in_a_value_is_not_an_identity():
    """Such a record in the log used to end the judgement of its trial with a ValueError."""
    body = LINES[4]["value"].rpartition("|")[0].replace("|1|", f"|{'9' * 5_000}|") + "|"
    assert decode(f"{body}{crc32c.crc32c(body.encode()):08x}") is None


TRACE = [
    {"event": "request_sent", "t_ns": 1, "api": "Produce", "correlation_id": 7, "node": 1, "sizes": [1, 2]},
    {"event": "state_changed", "t_ns": 2, "machine": "life", "to": "CLOSED", "why": {"code": None, "of": {}}},
]


@pytest.fixture(scope="module")
def place(memory: Path) -> Path:
    """Return the path at which a client writes its trace."""
    path = memory / "trial" / "client" / "trace.jsonl"
    path.parent.mkdir(parents=True)
    return path


@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
@example(HALF_SURROGATE)
def test_edited_trace_is_rows_or_breaks_the_contract(place, survives, edits):
    place.write_bytes(json_lines(TRACE, edits))
    rows = survives(lambda: trace_file.read(place, Meter("c", 3)), ClientBroken, OverLimit)
    if rows is not None:
        stored = msgspec.json.Encoder().encode_lines(rows)
        assert len(msgspec.json.Decoder(dict[str, Any]).decode_lines(stored)) == len(rows)
