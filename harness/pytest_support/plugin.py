"""The pytest plugin: trials and lanes as fixtures, the client under test as an option.

    def test_nothing_is_lost_when_answers_are_dropped(kafka_trial):
        kafka_trial("produce/dropped-response", guarantee="idempotent").must_pass()

Nothing is imported or started before a test uses one of these fixtures. Each process of pytest-xdist starts its
own brokers. ``-p no:kafka-trial`` disables the plugin.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.model.spec import ClientRef
    from harness.planning.own_load import OwnLoad
    from harness.planning.user_settings import UserSettings
    from harness.pytest_support.fixtures import Trials
    from harness.running.cluster_session import ClusterSession
    from harness.running.lane_handle import LaneHandle

#: option -> (default, description). Each is also an ini key and an environment variable.
OPTIONS = {
    "broker": ("local:4.3.1x1", "the cluster, as KIND:ID"),
    "seed": ("1", "the seed: all randomness comes from it"),
    "jobs": ("auto", "trials at a time in one process"),
    "out-dir": ("runs", "where evidence is kept"),
    "baseline": ("", "a file of known failures, which are then expected; or: known"),
    "scenario": ("*", "which scenarios the live suites try, a glob"),
    "load": ("", "what clients send, such as records=100000,size=20..20000,rate=5000"),
    "seeds": ("1", "how many seeds the live suites try, from --kafka-seed upwards"),
}
DEFAULT_CLIENT = "reference"
MARKERS = (
    "requirement(id): a behaviour id that the test is about",
    "must: judged by a protocol rule or a promise of safety",
    "should: judged by what the Java client does",
    "fault(kind): a kind of fault that the test throws in",
    "kafka_settings(*settings): settings of the clients in it, KEY=VALUE or CLIENT:KEY=VALUE",
    "guarantee(name): what the client's settings promise in it",
)
SESSION = pytest.StashKey["ClusterSession"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ``--kafka-*`` options and their ini keys."""
    group = parser.getgroup("kafka-trial", "Kafka clients on trial")
    group.addoption(
        "--kafka-client",
        action="append",
        metavar="NAME[@VERSION]",
        help="the client under test; repeatable (ini kafka_clients, env KAFKA_TRIAL_CLIENTS)",
    )
    group.addoption("--kafka-command", metavar="COMMAND", help="your own adapter, as a command line")
    parser.addini("kafka_clients", "the clients under test", type="args", default=[])
    chosen = "a setting of the clients, KEY=VALUE or CLIENT:KEY=VALUE"
    group.addoption(
        "--kafka-setting",
        action="append",
        metavar="KEY=VALUE",
        help=f"{chosen}; repeatable (ini kafka_settings, env KAFKA_TRIAL_SETTINGS)",
    )
    parser.addini("kafka_settings", f"{chosen}, one a line", type="linelist", default=[])
    strict = "a client that differs from what it should do fails the test"
    group.addoption("--kafka-strict", action="store_true", help=strict)
    parser.addini("kafka_strict", strict, type="bool", default=False)
    demanded = "what the outcomes of each trial must meet, such as 'given_up < 0.1%%'"
    group.addoption("--kafka-threshold", action="append", metavar="THRESHOLD", help=f"{demanded}; repeatable")
    parser.addini("kafka_thresholds", demanded.replace("%%", "%"), type="linelist", default=[])
    for name, (default, what) in OPTIONS.items():
        group.addoption(f"--kafka-{name}", metavar=name.upper(), help=f"{what} [{default or 'none'}]")
        parser.addini(f"kafka_{name.replace('-', '_')}", what)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return a header line with the clients under test, if any were named."""
    if not (config.getoption("--kafka-client") or config.getoption("--kafka-command")):
        return []
    from harness.text.escaping import log_line

    names = ", ".join(map(str, clients(config)))
    on = f"{setting(config, 'broker')}, seed {setting(config, 'seed')}"
    return [log_line(f"kafka-trial: {names} on {on}")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that uses ``kafka_client``, directly or through a fixture, once per client."""
    if "kafka_client" in metafunc.fixturenames:
        metafunc.parametrize(
            "kafka_client", clients(metafunc.config), ids=str, indirect=True, scope="session"
        )


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Show an error for the user, such as a missing extra of a module that is imported, as its sentence."""
    report = yield
    if call := getattr(report, "call", None):
        from harness.model.errors import KafkaTrialError
        from harness.text.escaping import log_line

        if call.excinfo and isinstance(call.excinfo.value, KafkaTrialError):
            report.longrepr = log_line(str(call.excinfo.value))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Report a failure as one sentence in summaries and in JUnit.

    Otherwise pytest prints the whole report twice in CI.
    """
    report = yield
    sentence = getattr(call.excinfo and call.excinfo.value, "sentence", None)
    if sentence is not None:
        report.longrepr.reprcrash.message = sentence
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print whether the thresholds of the options were met, and where the evidence is."""
    session = config.stash.get(SESSION, None)
    if session is not None:
        from harness.outcomes.thresholds import evaluated, sentences
        from harness.text.commands import path_word
        from harness.text.escaping import log_line

        for sentence in sentences(evaluated(thresholds(config), list(session.store.verdicts()))):
            terminalreporter.write_line(log_line(f"kafka-trial: {sentence}"))
        terminalreporter.write_line(
            log_line(
                f"kafka-trial: evidence in {session.store.folder}; kafka-trial report {path_word(session.store.folder)}"
            )
        )


def setting(config: pytest.Config, name: str) -> str:
    """Return an option: from the command line, else from the environment, else from the ini file, else its default."""
    given = config.getoption(f"--kafka-{name}")
    env = os.environ.get(f"KAFKA_TRIAL_{name.upper().replace('-', '_')}")
    ini = config.getini(f"kafka_{name.replace('-', '_')}")
    return str(given or env or ini or OPTIONS[name][0])


def number(config: pytest.Config, name: str) -> int:
    """Return an option that is a number. Raise pytest.UsageError if it is not a number."""
    text = setting(config, name)
    if not text.isdecimal():
        raise pytest.UsageError(f"--kafka-{name} takes a whole number, not {text!r}")
    return int(text)


def is_strict(config: pytest.Config) -> bool:
    """True if a difference is a failure: as the command line, the environment (0: no) or the ini file says."""
    env = os.environ.get("KAFKA_TRIAL_STRICT", "")
    return bool(config.getoption("--kafka-strict") or (env != "0" if env else config.getini("kafka_strict")))


def thresholds(config: pytest.Config) -> tuple[str, ...]:
    """Return the thresholds of the command line and the ini file. Raise pytest.UsageError for an invalid one."""
    from harness.outcomes.thresholds import parsed

    given = (*config.getini("kafka_thresholds"), *(config.getoption("--kafka-threshold") or ()))
    with _usage_errors():
        return tuple(parsed(text).text for text in given)


def load(config: pytest.Config) -> OwnLoad | None:
    """Return what clients send instead of each scenario's own load. Raise pytest.UsageError for an invalid one."""
    from harness.planning.own_load import parsed

    with _usage_errors():
        return parsed([setting(config, "load")])


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Raise an error for the user as pytest.UsageError, with one sentence."""
    from harness.model.errors import KafkaTrialError
    from harness.text.escaping import log_line

    try:
        yield
    except KafkaTrialError as error:
        raise pytest.UsageError(log_line(f"[{error.code}] {error}")) from None


def clients(config: pytest.Config) -> list[ClientRef]:
    """Return the clients under test. Raise pytest.UsageError, with a suggestion, for an unknown one."""
    import shlex

    from harness.planning import selection
    from harness.system import own_packages

    named = config.getoption("--kafka-client") or os.environ.get("KAFKA_TRIAL_CLIENTS", "").split()
    command = shlex.split(config.getoption("--kafka-command") or "")
    names = named or ([] if command else list(config.getini("kafka_clients")) or [DEFAULT_CLIENT])
    with _usage_errors():
        own_packages.check()
        return selection.clients(names, command)


def settings(config: pytest.Config, more: Sequence[str] = ()) -> UserSettings:
    """Return the settings of the clients that the user chose, and ``more`` of a test, which override them.

    Raise pytest.UsageError, with one sentence, if they cannot be used.
    """
    import shlex

    from harness.planning.user_settings import parsed

    given = (
        config.getoption("--kafka-setting")
        or shlex.split(os.environ.get("KAFKA_TRIAL_SETTINGS", ""))
        or list(config.getini("kafka_settings"))
    )
    refs = clients(config)
    with _usage_errors():
        return parsed(given, refs).overridden(parsed(more, refs))


@pytest.fixture(scope="session")
def kafka_cluster(
    request: pytest.FixtureRequest, record_testsuite_property: Callable[[str, object], None]
) -> Iterator[ClusterSession]:
    """The :class:`harness.running.cluster_session.ClusterSession` of ``--kafka-broker``. It starts when first used."""
    from harness import baseline
    from harness.cli.options import Options, jobs_of
    from harness.cli.run_plan import new_record
    from harness.model.errors import KafkaTrialError
    from harness.model.spec import Plan
    from harness.planning.selection import brokers
    from harness.running.cluster_session import ClusterSession
    from harness.system import own_packages
    from harness.text.escaping import log_line

    config = request.config
    demanded = thresholds(config)
    try:
        own_packages.check()
        [broker] = brokers([setting(config, "broker")])
        named = setting(config, "baseline")
        known = baseline.load(named) if named else ()
        # A test may hold a lane while a trial uses another.
        options = Options(
            max(2, 1 if is_worker(config) else jobs_of(setting(config, "jobs"))), thresholds=demanded
        )
        record = new_record(Plan(number(config, "seed"), ()), options, known)
        # Properties of the suite, because JUnit's schemas do not allow them in a case.
        for name, told in (("broker", broker), ("seed", setting(config, "seed")), ("run", record.run_id)):
            record_testsuite_property(f"kafka-trial.{name}", told)
        with ClusterSession(record, broker, Path(setting(config, "out-dir"))) as session:
            config.stash[SESSION] = session
            yield session
            if request.session.exitstatus == pytest.ExitCode.INTERRUPTED:
                session.stop_reason = "interrupted"
    except KafkaTrialError as error:
        pytest.fail(log_line(f"[{error.code}] {error}"), pytrace=False)


@pytest.fixture
def kafka_lane(kafka_cluster: ClusterSession) -> Iterator[LaneHandle]:
    """An isolated path to the brokers: ``bootstrap``, ``topic()``, ``fault()``, ``frames``, ``log()``."""
    with kafka_cluster.lane() as lane:
        yield lane


@pytest.fixture(scope="session")
def kafka_client(request: pytest.FixtureRequest) -> ClientRef:
    """The client under test; the test runs once for each."""
    client: ClientRef = request.param
    return client


@pytest.fixture
def kafka_trial(
    request: pytest.FixtureRequest, kafka_cluster: ClusterSession, kafka_client: ClientRef
) -> Trials:
    """Call it to run a trial of the client under test: see :class:`harness.pytest_support.fixtures.Trials`."""
    from harness.pytest_support.fixtures import Trials

    config = request.config
    of_test = [text for mark in request.node.iter_markers("kafka_settings") for text in mark.args]
    chosen = settings(config, of_test)
    return Trials(
        kafka_cluster,
        kafka_client,
        number(config, "seed"),
        is_strict(config),
        thresholds(config),
        chosen,
        load(config),
    )


def is_worker(config: pytest.Config) -> bool:
    """True in a worker process of pytest-xdist."""
    return hasattr(config, "workerinput")
