"""A Java producer after a fatal error. Since 3.3 it both throws for a batch's record and aborts the batch."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from harness.cli.options import Options
from harness.cli.run_plan import new_record
from harness.model.contract import OpComplete
from harness.model.spec import ClientRef, Plan
from harness.model.verdicts import Outcome
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.running.cluster_session import ClusterSession
from harness.wire.apis import Api

pytestmark = [pytest.mark.jvm, pytest.mark.long("produces with real clients"), pytest.mark.every_client]

BROKER = "local:4.3.1x1"
RECORDS = 240
CLUSTER_AUTHORIZATION_FAILED = 31


@pytest.mark.parametrize("version", ["3.4.1", "4.3.1"])
def test_two_reports_of_one_record_are_one_result(version, tmp_path):
    scenario = registry.scenario("frame/init-producer-id-fails")
    [spec] = make_plan([scenario], [ClientRef("java", version)], [BROKER], [1]).trials
    [fault] = spec.faults
    params = {"api": Api.INIT_PRODUCER_ID, "code": CLUSTER_AUTHORIZATION_FAILED, "count": 1_000}
    workload = replace(spec.workload, records=RECORDS)
    spec = replace(spec, faults=(replace(fault, params=params),), workload=workload)
    with ClusterSession(new_record(Plan(1, (spec,)), Options(1)), BROKER, tmp_path) as lab:
        verdict = lab.submit(spec).result()
        history = lab.store.read_evidence(spec.trial).history
    found = {finding.anomaly for each in verdict.requirements for finding in each.findings}
    assert verdict.verdict == "fail" and "gave-up" in found
    sends = [event for event in history if isinstance(event, OpComplete) and event.op == "send"]
    assert Counter(n for event in sends for n in event.records) == Counter(range(RECORDS))
    assert {outcome for event in sends for outcome in event.outcome} == {Outcome.INFO}
