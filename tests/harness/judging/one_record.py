"""The smallest trial that can be judged: one record, one fault and one check with a given result."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.contract import OpComplete, OpInvoke, ShutdownComplete, StartupComplete
from harness.model.evidence import Evidence
from harness.model.payload import Identity, encode
from harness.model.rows import (
    Ending,
    FaultRow,
    Finding,
    Frame,
    FrameKind,
    LogRecord,
    Phases,
    ProducePart,
    TrialRecord,
)
from harness.model.spec import AtTime, ClientRef, FaultSpec, TrialSpec, Workload
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from harness.plugins.scenario import Consequence, Scenario

#: A kind that is not installed, so that its hits decide whether it had an effect.
FAULT = FaultSpec("shaking", AtTime(100), 50)
EFFECTIVE = FaultRow(0, FAULT, (1, 2), (1, 2), hits=3)
VALUE = encode(Identity("run", "topic", "p1", 0), 60)
R1, R2 = Requirement("R-1", Level.MUST), Requirement("R-2", Level.SHOULD)
FOUND = [Finding("lost", "1 record is gone")]


def evidence(
    faults: Iterable[FaultRow] = (EFFECTIVE,),
    guarantee: Guarantee = Guarantee.IDEMPOTENT,
    ending: Ending = Ending.COMPLETE,
    reason: str = "",
    not_set: dict[str, str] | None = None,
    outcome: str = "ok",
    records: int = 1,
    crc_ok: bool = True,
) -> Evidence:
    """Return the evidence of one record, acknowledged and in the log, under one fault."""
    spec = TrialSpec(
        trial="t",
        client=ClientRef("c", "1"),
        broker="b:1",
        scenario="s",
        guarantee=guarantee,
        seed=7,
        workload=Workload(records=records),
        faults=tuple(row.spec for row in faults),
        config={},
    )
    client = {"client_version": "1"}
    record = TrialRecord(
        spec, "run", "topic", 0, Phases(1, 2, 3, 4), ending, reason, client=client, not_set=not_set or {}
    )
    said = OpComplete(
        seq=2,
        mono_ns=2,
        wall_ns=0,
        op="send",
        id=1,
        outcome=[outcome],
        error=[None],
        invoke_ns=[1],
        complete_ns=[2],
        records=[0],
        partition=[0],
        offset=[0],
    )
    up = StartupComplete(
        seq=0,
        mono_ns=0,
        wall_ns=0,
        client="c",
        client_version="1",
        language="none",
        features=["producer"],
        contract_version=2,
    )
    invoked = OpInvoke(seq=1, mono_ns=1, wall_ns=0, op="send", id=1, first=0, count=1)
    history = (up, invoked, said, ShutdownComplete(seq=3, mono_ns=3, wall_ns=0))
    kept = LogRecord("topic", 0, 0, 0, 0, -1, -1, -1, False, crc_ok, "k0", VALUE)
    return Evidence(record, history, connection((1,)), tuple(faults), (kept,))


def connection(correlation_ids: Iterable[int]) -> tuple[Frame, ...]:
    """Return the frames of a connection with these Produce requests, of one record each."""
    one = ProducePart("topic", 0, records=1)
    return (
        Frame(10, 0, 1, 1, FrameKind.OPEN),
        *(
            Frame(10 + n, 0, 1, 1, FrameKind.REQUEST, 300, 0, "Produce", correlation_id=n, produce=(one,))
            for n in correlation_ids
        ),
        Frame(90, 0, 1, 1, FrameKind.CLOSE, closed_by="client"),
    )


def scenario(count: int = 1) -> Scenario:
    """Return a scenario without faults whose consequence was seen ``count`` times."""
    return Scenario("s", "", lambda dice: (), lambda evidence: Consequence(count, "things were seen"))


def saying(
    answer: list[Finding] | Exception, *requirements: Requirement, guarantees=frozenset(Guarantee)
) -> Check:
    """Return a check that finds ``answer``, or raises it."""

    def find(evidence: Evidence) -> list[Finding]:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Check("c", "", requirements or (R1,), guarantees, frozenset(), "m", find)
