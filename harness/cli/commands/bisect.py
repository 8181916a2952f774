"""``kafka-trial bisect``: find the version of a client in which a behaviour changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from harness.cli import completion
from harness.cli.console import say
from harness.cli.examples import examples
from harness.cli.options import Given, Options, with_given
from harness.cli.output import print_json
from harness.cli.run_plan import new_record
from harness.cli.search_session import carry_out, live_run
from harness.cli.selecting import Anomaly, Brokers, Guarantees, Seed, Seeds
from harness.judging.fingerprint import replay
from harness.model.errors import UsageError, unknown
from harness.model.mode import Mode
from harness.model.spec import ClientRef, Plan, TrialSpec
from harness.planning import own_load, selection, setting_warnings, user_settings, validate_plan
from harness.planning.plan import Axes, excluded, make_plan
from harness.planning.user_settings import UserSettings
from harness.plugins import registry
from harness.plugins.scenario import Scenario
from harness.running.install import install
from harness.search.bisect_run import Bisection
from harness.search.criteria import criterion
from harness.storage.run_store import RunStore
from harness.text.counting import some

EXAMPLES = examples(
    "kafka-trial bisect confluent-kafka 2.3.0 2.16.1 network/reset",
    "kafka-trial bisect confluent-kafka 2.3.0 2.16.1 network/reset --on 'given_up < 1%' --seeds 5",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bisect", epilog=EXAMPLES)(with_given(bisect))


def bisect(
    client: Annotated[
        str, typer.Argument(help="The client, without a version.", autocompletion=completion.names("clients"))
    ],
    good: Annotated[
        str,
        typer.Argument(
            help="A version without the failure; older or newer than the bad one.",
            autocompletion=completion.versions,
        ),
    ],
    bad: Annotated[
        str, typer.Argument(help="A version with the failure.", autocompletion=completion.versions)
    ],
    scenario: Annotated[
        list[str], typer.Argument(help="Names or globs.", autocompletion=completion.names("scenarios"))
    ],
    guarantee: Guarantees = None,
    broker: Brokers = None,
    anomaly: Anomaly = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="OUTCOME",
            help="Bisect on an outcome instead: given_up finds where it changed, 'given_up < 1%' where that is missed.",
            autocompletion=completion.outcomes,
        ),
    ] = None,
    seed: Seed = 1,
    seeds: Seeds = 1,
    *,
    given: Given,
) -> int:
    """Find the first bad version of a client between a good and a bad one, or the version that fixed it."""
    options = given.options()
    bad_if = criterion(on, anomaly)
    versions, is_mended = _versions(client, good, bad)
    scenarios = selection.loaded(
        selection.scenarios(scenario, guarantee or ()), own_load.parsed(given.load or ())
    )
    brokers = selection.brokers(broker or ())
    user = user_settings.parsed(given.setting or (), [ClientRef(client, good)])

    def trials_of(version: str, seeds: int) -> tuple[TrialSpec, ...]:
        return make_plan(
            scenarios, [ClientRef(client, version)], brokers, range(seed, seed + seeds), user
        ).trials

    _tell_settings(scenarios, user, [*(each := trials_of(good, seeds)), *trials_of(bad, seeds)])
    validate_plan.check(Plan(seed, each), Mode.LIVE)
    clients = install([ClientRef(client, good), ClientRef(client, bad)])
    bisection = Bisection(client, versions, trials_of, seeds, bad_if, is_mended, clients, say)
    store = RunStore.create(options.out_dir, new_record(Plan(seed, ()), options))
    say(
        f"run {store.folder}: {some(len(versions), 'version')} of {client}, {some(len(each), 'trial')} each, "
        f"{options.jobs} at a time"
    )
    with live_run(store, clients, options) as run:
        stopped_by = carry_out(run, bisection.run(run))
    return _conclude(bisection, store, options, stopped_by)


def _tell_settings(scenarios: Sequence[Scenario], user: UserSettings, trials: Sequence[TrialSpec]) -> None:
    for sentence in excluded(Axes(scenarios, (), (), user=user).left_out()):
        say(f"left out: {sentence}")
    for sentence in (*setting_warnings.drawn(trials), *setting_warnings.known_before(trials)):
        say(sentence)


def _versions(client: str, good: str, bad: str) -> tuple[list[str], bool]:
    """Return the published versions from the good one to the bad one, and whether the good one is newer.

    Raise UsageError for a version that was never published.
    """
    published = registry.client(client).published()
    for version in (good, bad):
        if version not in published:
            raise unknown(f"version of {client}", version, published)
    first, last = published.index(good), published.index(bad)
    if first == last:
        raise UsageError(
            "good-is-bad", "{version} cannot be both good and bad; name two versions", version=good
        )
    if first < last:
        return published[first : last + 1], False
    return published[last : first + 1][::-1], True


def _conclude(bisection: Bisection, store: RunStore, options: Options, stopped_by: int | None) -> int:
    for sentence in _sentences(bisection, store, stopped_by):
        say(sentence)
    if options.as_json:
        print_json(_document(bisection, store))
    if stopped_by is not None:
        return 128 + stopped_by
    return 0 if bisection.is_as_said and not (bisection.untold or bisection.ran_out) else 4


def _sentences(bisection: Bisection, store: RunStore, stopped_by: int | None) -> Iterator[str]:
    first, last = bisection.versions[0], bisection.versions[-1]
    trials = sum(map(len, bisection.verdicts.values()))
    effort = f"{some(len(bisection.verdicts), 'version')} tried, {some(trials, 'trial')}"
    if not bisection.is_as_said:
        seen = {
            version: str(bisection.seen.get(version, "not tried to the end")) for version in (first, last)
        }
        yield (
            f"{bisection.name}: {first} should be good and is {seen[first]}, {last} should be bad and is {seen[last]}; "
            f"{effort}; evidence: {store.folder}"
        )
        if bisection.criterion.hint:
            yield f"hint: {bisection.criterion.hint}"
        return
    good, bad = bisection.bracket
    or_one_of = f", or one of {', '.join(bisection.untold)}" if bisection.untold else ""
    if bisection.is_mended:
        yield f"{bisection.name}: first good version {good}{or_one_of} (last bad {bad}), {effort}"
    else:
        yield f"{bisection.name}: first bad version {bad}{or_one_of} (last good {good}), {effort}"
    if stopped_by is not None or bisection.ran_out:
        yield "interrupted: it may be narrower" if stopped_by else "its time was used up: it may be narrower"
    yield f"replay: {replay(store.folder, bisection.failing.trial, bisection.failing)}"


def _document(bisection: Bisection, store: RunStore) -> dict[str, Any]:
    found = bisection.is_as_said
    good, bad = bisection.bracket if found else (None, None)
    return {
        "run": str(store.folder),
        "client": bisection.name,
        "mended": bisection.is_mended,
        "last_good": good,
        "first_bad": bad,
        "between": bisection.untold if found else None,
        "trials": sum(map(len, bisection.verdicts.values())),
        "versions": [
            {
                "version": version,
                "seen": bisection.seen[version],
                "counts": Counter(verdict.verdict for verdict in bisection.verdicts.get(version, [])),
                "lacks": bisection.lacks.get(version),
            }
            for version in bisection.versions
            if version in bisection.seen
        ],
        "replay": replay(store.folder, bisection.failing.trial, bisection.failing) if found else None,
    }
