"""A trial never passes if its fault had no effect or if a check crashed."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

import psutil
import pytest

from harness.model.spec import AtTime, ClientRef, FaultSpec, Workload
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.running.campaign import Campaign
from harness.running.install import install
from harness.storage.run_store import RunRecord, RunStore

pytestmark = pytest.mark.jvm

LATE = {"downstream_ms": 100}
LOAD = Workload(records=400, records_per_command=20, interval_ms=50)


def run_trial(tmp_path, scenario):
    """Return the verdict of the reference client in ``scenario``, at least once, with real brokers."""
    return run_with_evidence(tmp_path, scenario)[0]


def run_with_evidence(tmp_path, scenario):
    """Return that verdict and its evidence."""
    client = ClientRef("reference", registry.client("reference").default_version)
    plan = make_plan([scenario], [client], ["local:4.3.1x1"], [7])
    plan = replace_trials(plan, plan.trials[:1])
    store = RunStore.create(tmp_path, RunRecord("run", "2026-01-01T00:00:00+00:00", plan, 1, {}, []))
    with registry.replaced("scenarios", {scenario.name: scenario}):
        asyncio.run(Campaign(store, install([client]), 1, lambda _: None, lambda _: None).run())
    [verdict] = store.verdicts()
    return verdict, store.read_evidence(verdict.trial)


def replace_trials(plan, trials):
    return type(plan)(plan.seed, trials)


def short(name, *faults):
    return replace(registry.scenario(name), workload=LOAD, schedule=lambda _: faults)


DROP = FaultSpec("dropped_response", AtTime(500), 800)


def test_fault_has_an_effect_on_normal_traffic(tmp_path):
    verdict = run_trial(tmp_path, short("produce/dropped-response", DROP))
    assert verdict.verdict == "pass", verdict.reason


class Harmless:
    """A fault kind whose calls reach no proxy, as if the traffic of the client bypassed Toxiproxy."""

    def __init__(self, kind):
        self.kind = kind

    def __getattr__(self, name):
        return getattr(self.kind, name)

    async def prepare(self, spec, lane): ...
    async def inject_live(self, spec, lane): ...
    async def heal_live(self, spec, lane): ...


def test_fault_without_effect_is_not_exercised(tmp_path):
    harmless = {DROP.kind: Harmless(registry.fault(DROP.kind))}
    with registry.replaced("faults", harmless):
        verdict = run_trial(tmp_path, short("produce/dropped-response", DROP))
    assert verdict.verdict == "not-exercised"
    assert verdict.code == "fault-without-effect"


def test_fault_without_traffic_is_not_exercised(tmp_path):
    late = FaultSpec("dropped_response", AtTime(LOAD.load_ms + 400), 300)
    scenario = replace(short("produce/dropped-response", late), workload=replace_quiet(LOAD))
    verdict = run_trial(tmp_path, scenario)
    assert verdict.verdict == "not-exercised"
    assert verdict.code == "fault-without-effect"


def replace_quiet(load):
    """Send all records in the first command, so that the rest of the load phase has no traffic."""
    return Workload(records=load.records, records_per_command=load.records, interval_ms=load.load_ms + 1_000)


def test_fault_whose_trigger_never_occurs_is_not_exercised(tmp_path):
    from harness.model.spec import OnFrame

    never = FaultSpec("dropped_response", OnFrame("EndTxn"), 300)
    verdict = run_trial(tmp_path, short("produce/dropped-response", never))
    assert verdict.verdict == "not-exercised"
    assert verdict.code == "fault-never-effective"


def test_frame_triggers_a_fault(tmp_path):
    from harness.model.spec import OnFrame

    third = FaultSpec("dropped_response", OnFrame("Produce", "response", nth=3), 800)
    assert run_trial(tmp_path, short("produce/dropped-response", third)).verdict == "pass"


def test_faults_begin_before_the_client_and_end_on_its_events(tmp_path):
    from harness.model.spec import OnClientEvent, OnPhase

    slow = FaultSpec("latency", OnPhase("startup"), 60_000, LATE, until=OnClientEvent("ok", nth=100))
    drop = replace_start(DROP, OnClientEvent("invoke", nth=200))
    verdict, evidence = run_with_evidence(tmp_path, short("produce/dropped-response", slow, drop))
    assert verdict.verdict == "pass", verdict.reason
    [first, second] = evidence.faults
    opened = min(frame.t_ns for frame in evidence.frames)
    called_ns = sorted(send.invoke_ns for send in evidence.operations.values())
    acked_ns = sorted(send.complete_ns for send in evidence.acknowledged.values())
    assert first.effective_ns[0] < opened < evidence.record.phases.load_ns < first.effective_ns[1]
    assert acked_ns[99] < first.effective_ns[1] < first.effective_ns[0] + 60_000 * 1_000_000
    assert called_ns[199] < second.effective_ns[0]


def replace_start(fault, start):
    return FaultSpec(fault.kind, start, fault.duration_ms)


def test_aborted_trial_leaves_no_fault_on_its_lane(tmp_path):
    armed = replace(short("produce/calm"), schedule=lambda _: (FaultSpec("reset", AtTime(500), 100),))
    broken = ClientRef("broken", "own", ("/bin/sh", "-c", "echo garbage; cat"))
    client = ClientRef("reference", registry.client("reference").default_version)
    plan = make_plan([armed], [broken, client], ["local:4.3.1x1"], [7])
    plan = replace_trials(plan, plan.trials[:2])
    store = RunStore.create(tmp_path, RunRecord("run", "2026-01-01T00:00:00+00:00", plan, 1, {}, []))
    with registry.replaced("scenarios", {armed.name: armed}):
        asyncio.run(Campaign(store, install([broken, client]), 1, lambda _: None, lambda _: None).run())
    first, second = store.verdicts()
    assert (first.verdict, first.code) == ("harness-error", "not-an-event")
    assert second.verdict != "harness-error", second.reason


#: The reference client, with the address of the broker behind the proxy and the witness as its bootstrap server.
AROUND = """
import json, os, subprocess, sys, threading
client = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, text=True)

def pass_on():
    for line in sys.stdin:
        command = json.loads(line)
        config = command.get("config", {})
        if "bootstrap.servers" in config:
            host, port = config["bootstrap.servers"].split(":")
            config["bootstrap.servers"] = f"{host}:{int(port) + 2}"
        print(json.dumps(command), file=client.stdin, flush=True)
    client.stdin.close()

threading.Thread(target=pass_on, daemon=True).start()
os._exit(client.wait())
"""


def test_client_that_bypasses_its_lane_is_a_harness_error(tmp_path):
    scenario = short("produce/calm")
    reference = install([ClientRef("reference", registry.client("reference").default_version)])
    [launch] = [installed.launch for installed in reference.values()]
    around = ClientRef("around", "own", (sys.executable, "-c", AROUND, *launch.argv))
    plan = make_plan([scenario], [around], ["local:4.3.1x1"], [7])
    store = RunStore.create(
        tmp_path,
        RunRecord("run", "2026-01-01T00:00:00+00:00", replace_trials(plan, plan.trials[:1]), 1, {}, []),
    )
    with registry.replaced("scenarios", {scenario.name: scenario}):
        asyncio.run(Campaign(store, install([around]), 1, lambda _: None, lambda _: None).run())
    [verdict] = store.verdicts()
    assert verdict.verdict == "harness-error"
    assert verdict.code == "lane-bypassed"


def test_crashed_check_is_a_harness_error(tmp_path):
    def crash(_):
        raise ZeroDivisionError("on purpose")

    checks = {name: replace(check, run=crash) for name, check in registry.checks().items()}
    with registry.replaced("checks", checks):
        verdict = run_trial(tmp_path, short("produce/calm"))
    assert verdict.verdict == "harness-error"
    assert verdict.code == "check-crashed"


def test_stopped_proxy_server_affects_one_trial_and_its_lane(tmp_path):
    """Eight trials run on two lanes. The fault of one trial stops the server of its lane, and only this trial fails."""
    still = []

    class StopServer(Harmless):
        async def inject_live(self, spec, lane):
            servers = [p for p in psutil.Process().children() if p.name() == "toxiproxy-server"]
            [own] = [p for p in servers if _listens(p, lane.proxies[0].address.advertised)]
            if not still:
                still.append(own)
                own.suspend()
            await latency.inject_live(spec, lane)

        async def heal_live(self, spec, lane):
            await latency.heal_live(spec, lane)

    latency = registry.fault("latency")
    armed = replace(short("produce/calm"), schedule=lambda _: (FaultSpec("latency", AtTime(500), 300, LATE),))
    client = ClientRef("reference", registry.client("reference").default_version)
    plan = make_plan([armed], [client], ["local:4.3.1x1"], [*range(8)])
    plan = replace_trials(plan, plan.trials[:8])
    store = RunStore.create(tmp_path, RunRecord("run", "2026-01-01T00:00:00+00:00", plan, 2, {}, []))
    said = []
    campaign = Campaign(store, install([client]), 2, lambda _: None, lambda _: None, said.append)
    with (
        registry.replaced("scenarios", {armed.name: armed}),
        registry.replaced("faults", {"latency": StopServer(latency)}),
    ):
        asyncio.run(campaign.run())
    lost = [verdict for verdict in store.verdicts() if verdict.verdict == "harness-error"]
    assert len(list(store.verdicts())) == 8 and len(lost) == 1, [verdict.reason for verdict in lost]
    assert lost[0].code in {"control-plane-wedged", "toxiproxy-silent"}
    assert [line for line in said if "is not to be trusted any more" in line], (said, lost[0].reason)
    assert not still[0].is_running()
    assert len(list((store.folder / "logs" / "local-4.3.1x1-0").glob("lane-*"))) == 3


def _listens(process, address):
    return any(c.laddr == address and c.status == psutil.CONN_LISTEN for c in process.net_connections())
