"""How many simulated trials a second one core runs and judges, and how much faster than real time that is.

``python -m benchmarks.simulate [--trials N] [--seed N] [--json]``. CPU time of this one process is counted, so that
a busy machine does not count. Machines differ, so a peer is measured in the same run: a plain loop that encodes,
checks and reads back the same number of records in batches, which is the least that any such trial has to do.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from typing import Any

from harness import registry
from harness.simulated.judged import try_spec
from harness.spec import ClientRef, TrialSpec
from harness.wire.records import BatchBuilder, Codec, read_batches
from suites.simulated.generated import spec_of

SCENARIO = "generated/any"
PEER_BATCH = 20
PEER_ROUNDS = 5
WARM_UP = 20


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.simulate", description=__doc__)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    measured = measure(asked.seed, asked.trials)
    if asked.json:
        print(json.dumps(measured))  # noqa: T201
    else:
        for name, value in measured.items():
            print(f"{name:>28}  {value}")  # noqa: T201
    return 0


def measure(seed: int, trials: int) -> dict[str, Any]:
    """Trials a second and virtual over real time, with the peer's figure beside them."""
    client = ClientRef("reference", registry.client("reference").default_version)
    scenario = registry.scenario(SCENARIO)
    specs = [spec_of(scenario, client, number) for number in range(seed, seed + trials)]
    for spec in specs[:WARM_UP]:
        try_spec(spec)
    verdicts: Counter[str] = Counter()
    virtual_ns = 0
    began_s = time.process_time()
    for spec in specs:
        evidence, verdict = try_spec(spec)
        verdicts[verdict.verdict] += 1
        virtual_ns += (evidence.record.phases.end_ns or 0) - evidence.history[0].mono_ns
    seconds = time.process_time() - began_s
    peer_seconds = min(_peer(specs) for _ in range(PEER_ROUNDS))
    return {
        "scenario": SCENARIO,
        "trials": trials,
        "records_per_trial": round(sum(spec.workload.records for spec in specs) / trials, 1),
        "faults_per_trial": round(sum(len(spec.faults) for spec in specs) / trials, 1),
        "cpu_seconds": round(seconds, 3),
        "trials_per_second": round(trials / seconds, 1),
        "virtual_over_real": round(virtual_ns / 1e9 / seconds, 1),
        "peer_trials_per_second": round(trials / peer_seconds, 1),
        "times_the_peer": round(seconds / peer_seconds, 1),
        "verdicts": dict(sorted(verdicts.items())),
    }


def _peer(specs: list[TrialSpec]) -> float:
    """CPU seconds for a plain loop over as many records: into batches with a CRC, and out again."""
    began_s = time.process_time()
    for spec in specs:
        value = b"x" * spec.workload.value_bytes
        for first in range(0, spec.workload.records, PEER_BATCH):
            builder = BatchBuilder(Codec.NONE, 0)
            for n in range(first, min(first + PEER_BATCH, spec.workload.records)):
                builder.append(n, b"k", value, ())
            [batch] = read_batches(builder.build(1, 0, first))
            assert batch.crc_ok
    return time.process_time() - began_s


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
