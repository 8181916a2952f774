"""Measure how exactly a fault hits a single frame: the third Produce response to client p1 for partition 0.

    .venv/bin/python -m benchmarks.exact [--trials 100] [--json]

The trials are live, with two clients. A trial is exact if the witness stopped one frame, if counting in the evidence
shows that this was the third of its kind since the fault began, and if the client, which never got the response, sent
that batch again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec.structs import replace

from harness.model.evidence import PRODUCER, Evidence
from harness.model.rows import Frame, FrameKind
from harness.model.spec import AtTime, ClientRef, FaultSpec, FrameMatch, OnClientEvent, Plan, Workload
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.storage.run_store import RunStore

NTH, PARTITION = 3, 0
WORKLOAD = Workload(records=600, records_per_command=30, interval_ms=75)
#: The fault lasts until every record after the warm-up (the first chunk) has its result, however slow the machine is.
FAULT = FaultSpec(
    "dropped_frame",
    AtTime(0),
    60_000,
    frames=FrameMatch("Produce", first=NTH, client_id=PRODUCER, partition=PARTITION),
    until=OnClientEvent("ok", nth=WORKLOAD.records - WORKLOAD.records_per_command),
)
CLIENTS = ("reference", "confluent-kafka")


def plan(trials: int) -> Plan:
    """Return a plan with ``trials`` trials of each client, which alternate between the guarantees."""
    scenario = registry.scenario("frame/lost-answer")
    refs = [ClientRef(name, registry.client(name).default_version) for name in CLIENTS]
    seeds = range(1, 1 + -(-trials // len(scenario.guarantees)))
    made = make_plan([scenario], refs, ["local:4.3.1x1"], seeds)
    return Plan(1, tuple(replace(spec, faults=(FAULT,), workload=WORKLOAD) for spec in made.trials))


def is_exact(evidence: Evidence) -> bool:
    """Return whether the third frame of its kind, and no other, was stopped and its batch was sent again."""
    [row] = evidence.faults
    if row.effective_ns is None:
        return False
    stopped = [frame for frame in evidence.blocked_frames if frame.fault is not None]
    answers = [
        frame
        for frame in (*evidence.frames, *evidence.blocked_frames)
        if _is_meant(frame, row.effective_ns[0])
    ]
    # Not sorted by time: responses that arrive in one read have the same time. A broker answers in order.
    answers.sort(key=lambda frame: (frame.conn, frame.correlation_id or 0))
    if len(stopped) != 1 or answers[NTH - 1 : NTH] != stopped:
        return False
    asked = [frame for frame in evidence.frames if frame.kind is FrameKind.REQUEST and frame.api == "Produce"]
    [lost] = [f for f in asked if (f.conn, f.correlation_id) == (stopped[0].conn, stopped[0].correlation_id)]
    batches = {part.crc for part in lost.produce}
    return any(part.crc in batches for f in asked if f.t_ns > stopped[0].t_ns for part in f.produce)


def _is_meant(frame: Frame, since_ns: int) -> bool:
    is_answer = frame.kind is FrameKind.RESPONSE and frame.api == "Produce" and frame.t_ns >= since_ns
    is_meant = is_answer and frame.client_id == PRODUCER
    return is_meant and any(part.partition == PARTITION for part in frame.produce)


def main(argv: list[str]) -> int:
    """Run the trials and print the figures. Return 0 if every trial was exact, else 1."""
    parser = argparse.ArgumentParser(prog="benchmarks.exact")
    parser.add_argument("--trials", type=int, default=100, help="the number of trials of each client")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_bytes(msgspec.json.encode(plan(given.trials)))
        command = [
            str(Path(sys.executable).with_name("kafka-trial")),
            "replay",
            str(path),
            "-j",
            "16",
            "--json",
        ]
        done = subprocess.run([*command, "--out-dir", folder], stdout=subprocess.PIPE, check=False)
        if not done.stdout:
            return done.returncode
        store = RunStore.open(Path(json.loads(done.stdout)["run"]))
        figures: dict[str, dict[str, Any]] = {
            name: {"trials": 0, "exact": 0, "verdicts": {}} for name in CLIENTS
        }
        for verdict in store.verdicts():
            of = figures[verdict.client.partition("@")[0]]
            of["trials"] += 1
            of["exact"] += is_exact(store.read_evidence(verdict.trial))
            of["verdicts"][verdict.verdict] = of["verdicts"].get(verdict.verdict, 0) + 1
    lines = [
        f"{name}: {each['exact']} of {each['trials']} exact; {each['verdicts']}"
        for name, each in figures.items()
    ]
    sys.stdout.write(json.dumps(figures) if given.json else "\n".join(lines))
    sys.stdout.write("\n")
    return int(any(each["exact"] != each["trials"] for each in figures.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
