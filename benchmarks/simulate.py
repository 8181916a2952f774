"""How many simulated trials per second one core runs and judges, and how much faster than real time that is.

``python -m benchmarks.simulate [--trials N] [--seed N] [--rounds N] [--json]``

A trial is one of ``generated/any``, drawn from a seed like the trials of ``kafka-trial simulate``: a cluster of one to
three brokers and a client in virtual time, at least 100 records, and at least two faults that took effect. Seeds whose
faults came too late are skipped and counted. The trial runs to its end, its evidence is collected, and every check of
its scenario judges it. Drawing and storing the trial are not measured.

The measured time is the CPU time of this process. For each trial, the minimum of several rounds counts, so that other
load on the machine has little effect. Machines differ, so the same run also measures a peer: a plain loop that encodes,
checks and decodes the same number of records in batches, which is the minimum work of any such trial.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from harness.judging.judge import judge
from harness.model.evidence import Evidence
from harness.model.rows import FrameKind, TrialVerdict
from harness.model.spec import ClientRef, TrialSpec
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.wire.records import BatchBuilder, Codec, read_batches
from suites.simulate.batches import collect_rarely

SCENARIO = "generated/any"
LEAST_RECORDS, LEAST_FAULTS = 100, 2
PEER_BATCH = 20
NS_PER_S = 1_000_000_000


@dataclass
class Totals:
    """Sums over all trials. Times are in nanoseconds."""

    run_ns: int = 0
    judge_ns: int = 0
    virtual_ns: int = 0
    peer_ns: int = 0
    records: int = 0
    faults: int = 0
    nodes: int = 0
    requests: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.simulate", description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    measured = measure(asked.seed, asked.trials, asked.rounds)
    if asked.json:
        print(json.dumps(measured))  # noqa: T201
    else:
        for name, value in measured.items():
            print(f"{name:>28}  {value}")  # noqa: T201
    return 0


def measure(seed: int, trials: int, rounds: int) -> dict[str, Any]:
    """Return trials per second, the ratio of virtual to real time, and the figures of the peer."""
    collect_rarely()
    passed_over: list[int] = []
    specs = list(islice(_eligible(seed, passed_over), trials))
    totals = Totals()
    for spec in specs:
        _add(totals, spec, rounds)
    seconds = (totals.run_ns + totals.judge_ns) / NS_PER_S
    return {
        "scenario": SCENARIO,
        "trials": trials,
        "seeds_passed_over": len(passed_over),
        "records_per_trial": round(totals.records / trials, 1),
        "faults_in_effect_per_trial": round(totals.faults / trials, 1),
        "nodes_per_trial": round(totals.nodes / trials, 1),
        "requests_per_trial": round(totals.requests / trials, 1),
        "run_ms_per_trial": round(totals.run_ns / 1e6 / trials, 2),
        "judge_ms_per_trial": round(totals.judge_ns / 1e6 / trials, 2),
        "trials_per_second": round(trials / seconds, 1),
        "virtual_seconds_per_trial": round(totals.virtual_ns / NS_PER_S / trials, 1),
        "virtual_over_real": round(totals.virtual_ns / NS_PER_S / seconds, 1),
        "peer_trials_per_second": round(trials * NS_PER_S / totals.peer_ns, 1),
        "times_the_peer": round(seconds * NS_PER_S / totals.peer_ns, 1),
        "verdicts": dict(sorted(totals.verdicts.items())),
    }


def _eligible(seed: int, passed_over: list[int]) -> Iterator[TrialSpec]:
    """Yield the trials from this seed on that meet the module's definition.

    Each is run once to find out, which also warms up the process.
    """
    client = ClientRef("reference", registry.client("reference").default_version)
    scenario = registry.scenario(SCENARIO)
    for number in count(seed):
        spec = spec_of(scenario, client, number)
        evidence = SimulatedTrial(spec, RUN_ID).run()
        if spec.workload.records >= LEAST_RECORDS and _in_effect(evidence) >= LEAST_FAULTS:
            yield spec
        else:
            passed_over.append(number)


def _in_effect(evidence: Evidence) -> int:
    return sum(row.effective_ns is not None for row in evidence.faults)


def _add(totals: Totals, spec: TrialSpec, rounds: int) -> None:
    """Run one trial ``rounds`` times, and add the minimum of its times."""
    tries = [_tried(spec) for _ in range(rounds)]
    evidence, verdict, _, _ = tries[0]
    totals.run_ns += min(run_ns for _, _, run_ns, _ in tries)
    totals.judge_ns += min(judge_ns for _, _, _, judge_ns in tries)
    totals.peer_ns += min(_peer_ns(spec) for _ in range(rounds))
    totals.virtual_ns += (evidence.record.phases.end_ns or 0) - evidence.history[0].mono_ns
    totals.records += spec.workload.records
    totals.faults += _in_effect(evidence)
    totals.nodes += int(spec.broker.rpartition("x")[2])
    totals.requests += sum(frame.kind is FrameKind.REQUEST for frame in evidence.frames)
    totals.verdicts[verdict.verdict] += 1


def _tried(spec: TrialSpec) -> tuple[Evidence, TrialVerdict, int, int]:
    """Run and judge a trial. Return its evidence, its verdict and both times in nanoseconds."""
    began_ns = time.process_time_ns()
    evidence = SimulatedTrial(spec, RUN_ID).run()
    ran_ns = time.process_time_ns()
    verdict = judge(evidence, registry.scenario(spec.scenario), registry.checks())
    return evidence, verdict, ran_ns - began_ns, time.process_time_ns() - ran_ns


def _peer_ns(spec: TrialSpec) -> int:
    """Return the time of a plain loop that writes as many records into batches with a CRC, and reads them."""
    began_ns = time.process_time_ns()
    value = b"x" * spec.workload.value_bytes
    for first in range(0, spec.workload.records, PEER_BATCH):
        builder = BatchBuilder(Codec.NONE, 0)
        for n in range(first, min(first + PEER_BATCH, spec.workload.records)):
            builder.append(n, b"k", value, ())
        [batch] = read_batches(builder.build(1, 0, first))
        assert batch.crc_ok
    return time.process_time_ns() - began_ns


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
