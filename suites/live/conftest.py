"""One item per scenario, guarantee, client and seed, with markers for what it covers. Several trials run at a time.

Tests run one after the other, but trials need not: while one item waits for its verdict, the next ones run on
the other lanes. Under pytest-xdist the next item is unknown, so each process runs one at a time.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from harness.model.errors import KafkaTrialError
from harness.model.mode import Mode
from harness.model.spec import ClientRef, TrialSpec
from harness.model.verdicts import Level
from harness.planning.plan import conflict_of
from harness.plugins import registry
from harness.plugins.scenario import Scenario
from harness.pytest_support.fixtures import TrialInconclusive, TrialResult, Trials, spec_of
from harness.pytest_support.plugin import (
    clients,
    is_strict,
    is_worker,
    load,
    number,
    setting,
    settings,
    thresholds,
)
from harness.running.cluster_session import ClusterSession
from harness.text.escaping import log_line


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Generate the items, in the order of a plan."""
    if "kafka_case" not in metafunc.fixturenames:
        return
    config = metafunc.config
    first, broker, chosen = number(config, "seed"), setting(config, "broker"), settings(config)
    own_load = load(config)
    wanted = _live(setting(config, "scenario"))
    cases = [
        pytest.param(
            spec := spec_of(name, guarantee, client, broker, seed, chosen, own_load),
            id=f"{name}-{guarantee}-{client}-s{seed}",
            marks=_marks(scenario, spec),
        )
        for seed in range(first, first + number(config, "seeds"))
        for name, scenario in wanted.items()
        for guarantee in scenario.guarantees
        if conflict_of(scenario, guarantee, chosen.java) is None
        for client in clients(config)
    ]
    metafunc.parametrize("kafka_case", cases)


def _live(pattern: str) -> dict[str, Scenario]:
    known = registry.table("scenarios")
    return {
        name: scenario
        for name, scenario in known.items()
        if Mode.LIVE in scenario.modes
        and fnmatchcase(name, pattern)
        and (not scenario.opt_in or pattern != "*")
    }


def _marks(scenario: Scenario, spec: TrialSpec) -> list[pytest.MarkDecorator]:
    levels = _levels()
    about = [pytest.mark.requirement(id=each) for each in scenario.exercises]
    of_level = {levels[each] for each in scenario.exercises if each in levels} or {Level.MUST}
    return [
        *about,
        *(getattr(pytest.mark, level.lower()) for level in sorted(of_level)),
        *(pytest.mark.fault(kind=kind) for kind in sorted({fault.kind for fault in spec.faults})),
        pytest.mark.guarantee(name=str(spec.guarantee)),
    ]


def _levels() -> dict[str, Level]:
    return {each.id: each.level for check in registry.checks().values() for each in check.requirements}


@pytest.fixture(scope="session")
def kafka_cases(request: pytest.FixtureRequest) -> list[TrialSpec]:
    """Return the trials that this process will run, in order. Empty if they are unknown."""
    if is_worker(request.config):
        return []
    params = [getattr(item, "callspec", None) for item in request.session.items]
    return [each.params["kafka_case"] for each in params if each is not None and "kafka_case" in each.params]


@pytest.fixture
def kafka_verdict(
    request: pytest.FixtureRequest,
    kafka_cluster: ClusterSession,
    kafka_case: TrialSpec,
    kafka_cases: list[TrialSpec],
) -> TrialResult:
    """Return the verdict of the item's trial. An item whose trial proves nothing ends here, as an error."""
    config = request.config
    trials = Trials(kafka_cluster, kafka_case.client, kafka_case.seed, is_strict(config), thresholds(config))
    try:
        if kafka_case in kafka_cases:
            at = kafka_cases.index(kafka_case)
            for ahead in kafka_cases[at : at + kafka_cluster.lanes]:
                kafka_cluster.submit(ahead)
        tried = trials.tried(kafka_case)
        tried.require_verdict()
    except TrialInconclusive as error:
        pytest.fail(log_line(str(error)), pytrace=False)
    except KafkaTrialError as error:
        pytest.fail(log_line(f"[{error.code}] {error}"), pytrace=False)
    return tried


@pytest.fixture
def kafka_client(kafka_case: TrialSpec) -> ClientRef:
    """Return the client of the item."""
    return kafka_case.client
