"""Compare two runs, or two parts of one, trial by trial: what got worse or better, and what is not comparable. Pure.

Trials are the same if they have the same client, scenario, guarantee, variant, seed and broker. All attempts at one
trial count together. The client's version matters only if a run has several versions of the client; this allows two
versions to be compared. Trials with different faults, load or settings are not comparable. If a scenario fails in only
some seeds and attempts of both runs, and about equally often, the difference in one trial is chance: it is flaky.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from harness.judging.fingerprint import decisive, findings, kind_of
from harness.model.rows import TrialVerdict
from harness.model.spec import TrialSpec
from harness.model.verdicts import Verdict
from harness.outcomes.statistics import wilson
from harness.text.version_order import by_version

FAILED = frozenset({Verdict.FAIL, Verdict.EXPECTED_FAIL})
#: Verdicts whose reasons are findings.
ACCUSED = FAILED | {Verdict.DIFFERS}
#: Verdicts that break no promise.
PASSED = frozenset({Verdict.PASS, Verdict.DIFFERS, Verdict.UNEXPECTED_PASS})


class VerdictChange(StrEnum):
    """The change of one trial, the worst first.

    A regression fails now and did not fail before, whatever its verdict was.
    """

    REGRESSION = "regression"
    FIXED = "fixed"
    CHANGED = "changed"
    FLAKY = "flaky"
    APPEARED = "appeared"
    DISAPPEARED = "disappeared"
    NOT_COMPARABLE = "not-comparable"
    SAME = "same"


class Across(StrEnum):
    """What the two sides are: two runs, two clients or versions of one, or two configurations."""

    RUNS = "runs"
    CLIENTS = "clients"
    VARIANTS = "configurations"


class Result(msgspec.Struct, frozen=True):
    """The result of one trial in one run, over all attempts: ``count`` of ``attempts`` had this verdict."""

    client: str
    verdict: str
    reason: str
    count: int
    attempts: int
    trial: str

    def __str__(self) -> str:
        return self.verdict if self.attempts == 1 else f"{self.verdict} in {self.count} of {self.attempts}"


class Difference(msgspec.Struct, frozen=True):
    """One trial in two runs. ``old`` or ``new`` is null if it was not run; ``why`` says why it is not comparable."""

    change: str
    client: str
    scenario: str
    guarantee: str
    variant: str
    seed: int
    broker: str
    old: Result | None
    new: Result | None
    why: str = ""

    @property
    def reason(self) -> str:
        """The new result as one sentence."""
        told = self.new or self.old
        return self.why or (told.reason if told else "")


class Side(NamedTuple):
    """One of the two runs: its plan by trial, and its verdicts."""

    specs: Mapping[str, TrialSpec]
    verdicts: Sequence[TrialVerdict]


class Key(NamedTuple):
    """A trial independent of its side. ``client`` is a name, or name@version if a side has several versions."""

    client: str
    scenario: str
    guarantee: str
    variant: str
    seed: int


_Attempts = list[TrialVerdict]
_Tried = dict[Key, dict[str, _Attempts]]
_Reasons = dict[tuple[object, ...], set[str]]


def side(trials: Iterable[TrialSpec], verdicts: Iterable[TrialVerdict]) -> Side:
    """Return a run by its plan and its verdicts."""
    return Side({spec.trial: spec for spec in trials}, list(verdicts))


def compare(old: Side, new: Side, across: Across = Across.RUNS) -> list[Difference]:
    """Compare every trial that is in either side, the worst change first."""
    several = several_versions(old, new)
    before, after = _tried(old, several, across), _tried(new, several, across)
    chance = _by_chance(before, after)
    found = [
        difference
        for key in before.keys() | after.keys()
        for difference in _differences(key, before.get(key, {}), after.get(key, {}), old, new, chance, across)
    ]
    return sorted(
        found, key=lambda each: (list(VerdictChange).index(VerdictChange(each.change)), _place(each))
    )


def several_versions(*sides: Side) -> set[str]:
    """Return the clients of which a side has several versions, so that the version is part of the trial."""
    return {name for one in sides for name, versions in versions_of(one).items() if len(versions) > 1}


def versions_of(one: Side) -> dict[str, list[str]]:
    """Return the clients of a run, each with its versions."""
    found: dict[str, set[str]] = defaultdict(set)
    for spec in one.specs.values():
        found[spec.client.name].add(spec.client.version)
    return {name: sorted(versions, key=by_version) for name, versions in sorted(found.items())}


def key_of(one: Side, verdict: TrialVerdict, several: Collection[str], across: Across) -> Key:
    """Return what identifies a trial on both sides. What the sides differ in is empty."""
    ref = one.specs[verdict.trial].client
    client = str(ref) if ref.name in several else ref.name
    return Key(
        "" if across is Across.CLIENTS else client,
        verdict.scenario,
        verdict.guarantee,
        "" if across is Across.VARIANTS else verdict.variant,
        verdict.seed,
    )


def _tried(one: Side, several: Collection[str], across: Across) -> _Tried:
    tried: _Tried = defaultdict(lambda: defaultdict(list))
    for verdict in one.verdicts:
        tried[key_of(one, verdict, several, across)][verdict.broker].append(verdict)
    return tried


def _differences(
    key: Key,
    before: Mapping[str, _Attempts],
    after: Mapping[str, _Attempts],
    old: Side,
    new: Side,
    chance: set[tuple[Key, str]],
    across: Across,
) -> Iterator[Difference]:
    for broker in before.keys() & after.keys():
        was, now = before[broker], after[broker]
        change, why = (
            _change(was, now),
            incomparable(old.specs[was[0].trial], new.specs[now[0].trial], across),
        )
        if why:
            change = VerdictChange.NOT_COMPARABLE
        elif _failed(was) != _failed(now) and (key._replace(seed=0), broker) in chance:
            change = VerdictChange.FLAKY
        yield Difference(change.value, *key, broker, _result(was), _result(now), why)
    gone, come = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    if len(gone) == len(come) == 1:
        was, now, why = before[gone[0]], after[come[0]], f"on {gone[0]} and on {come[0]}"
        yield Difference(VerdictChange.NOT_COMPARABLE.value, *key, come[0], _result(was), _result(now), why)
        return
    for broker in gone:
        yield Difference(VerdictChange.DISAPPEARED.value, *key, broker, _result(before[broker]), None)
    for broker in come:
        yield Difference(VerdictChange.APPEARED.value, *key, broker, None, _result(after[broker]))


def incomparable(old: TrialSpec, new: TrialSpec, across: Across) -> str:
    """Return in what the two trials differ, or "" if they are comparable."""
    parts = {"faults": old.faults == new.faults, "workload": old.workload == new.workload}
    parts["configuration"] = across is Across.VARIANTS or old.config == new.config
    other = [name for name, same in parts.items() if not same]
    return f"not with the same {' and '.join(other)}" if other else ""


def _change(was: _Attempts, now: _Attempts) -> VerdictChange:
    old, new = Verdict(decisive(was).verdict), Verdict(decisive(now).verdict)
    alike = _alike(_reasons(was, old), _reasons(now, new))
    # The same failure, whose entry in the baseline was added or removed since, is not a change of the client.
    if new is Verdict.FAIL and (old not in FAILED or (old is Verdict.EXPECTED_FAIL and not alike)):
        return VerdictChange.REGRESSION
    if old in FAILED and new in PASSED:
        return VerdictChange.FIXED
    return VerdictChange.SAME if old is new and (alike or new is Verdict.PASS) else VerdictChange.CHANGED


def _failed(attempts: _Attempts) -> bool:
    return decisive(attempts).verdict in FAILED


def _reasons(attempts: _Attempts, verdict: Verdict) -> _Reasons:
    """Return the reasons of the attempts with this verdict: codes with their names, and the names that they list."""
    told: _Reasons = defaultdict(set)
    for attempt in attempts:
        if attempt.verdict == verdict:
            found = [(each.finding.anomaly, each.finding.params) for each in findings(attempt)]
            for code, params in found if verdict in ACCUSED and found else [(attempt.code, attempt.params)]:
                kind = kind_of(code, params)
                told[kind.code, kind.values] |= kind.names
    return told


def _alike(old: _Reasons, new: _Reasons) -> bool:
    """True if both have the same reasons.

    Lists of errors need one in common, since it is chance which of several occurred.
    """
    return old.keys() == new.keys() and all(
        names & new[said] or not (names or new[said]) for said, names in old.items()
    )


def _result(attempts: _Attempts) -> Result:
    told = decisive(attempts)
    alike = sum(attempt.verdict == told.verdict for attempt in attempts)
    return Result(told.client, told.verdict, told.reason, alike, len(attempts), told.trial)


def _by_chance(before: _Tried, after: _Tried) -> set[tuple[Key, str]]:
    """Return what fails sometimes in both runs, and about equally often: keys without their seed, and the broker."""
    old, new = _rates(before), _rates(after)
    return {
        place
        for place in old.keys() & new.keys()
        if all(0 < failed < of for failed, of in (old[place], new[place]))
        if wilson(*old[place]).overlaps(wilson(*new[place]))
    }


def _rates(tried: _Tried) -> dict[tuple[Key, str], tuple[int, int]]:
    """Return the number of failures, and of attempts with a clear result."""
    found: dict[tuple[Key, str], tuple[int, int]] = {}
    for key, brokers in tried.items():
        for broker, attempts in brokers.items():
            failed, of = found.get((key._replace(seed=0), broker), (0, 0))
            failed += sum(attempt.verdict in FAILED for attempt in attempts)
            of += sum(attempt.verdict in FAILED | PASSED for attempt in attempts)
            found[key._replace(seed=0), broker] = failed, of
    return found


def _place(difference: Difference) -> tuple[str | int, ...]:
    return (
        difference.client,
        difference.scenario,
        difference.guarantee,
        difference.variant,
        difference.seed,
        difference.broker,
    )
