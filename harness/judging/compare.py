"""Two runs compared, trial by trial: what got worse, what got better, and what cannot be told.

Trials are the same if client, scenario, guarantee, variant, seed and broker are; all attempts at one count together.
The client's version is part of that only if a run has several of it: so two versions can be compared. What was not
tried with the same faults, load and settings is not comparable. Where both runs sometimes fail and sometimes do not,
over seeds and attempts, and about as often, one trial that differs is chance: flaky. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import sqrt
from typing import NamedTuple

import msgspec

from harness.judging.fingerprint import decisive, findings, kind_of
from harness.model.rows import TrialVerdict
from harness.model.spec import TrialSpec
from harness.model.verdicts import Verdict

FAILED = frozenset({Verdict.FAIL, Verdict.EXPECTED_FAIL})
#: Verdicts whose reasons are findings.
ACCUSED = FAILED | {Verdict.DIFFERS}
#: A difference breaks no promise.
PASSED = frozenset({Verdict.PASS, Verdict.DIFFERS, Verdict.UNEXPECTED_PASS})
#: How sure one may be that two rates differ: 1.96 standard deviations are 95 %.
DEVIATIONS = 1.96


class VerdictChange(StrEnum):
    """What became of one trial, the worst first. A regression fails now, and did not: whatever it was before."""

    REGRESSION = "regression"
    FIXED = "fixed"
    CHANGED = "changed"
    FLAKY = "flaky"
    APPEARED = "appeared"
    DISAPPEARED = "disappeared"
    NOT_COMPARABLE = "not-comparable"
    SAME = "same"


class Result(msgspec.Struct, frozen=True):
    """What came out of one trial in one run, over all attempts: ``count`` of ``attempts`` had this verdict."""

    client: str
    verdict: str
    reason: str
    count: int
    attempts: int
    trial: str

    def __str__(self) -> str:
        return self.verdict if self.attempts == 1 else f"{self.verdict} in {self.count} of {self.attempts}"


class Difference(msgspec.Struct, frozen=True):
    """One trial in two runs; ``old`` or ``new`` is null where it was not run; ``why``: not comparable."""

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
        """One sentence on how it is now."""
        told = self.new or self.old
        return self.why or (told.reason if told else "")


class Side(NamedTuple):
    """One of the two runs: its plan by trial, and its verdicts."""

    specs: Mapping[str, TrialSpec]
    verdicts: Sequence[TrialVerdict]


class _Key(NamedTuple):
    """One trial wherever it is run; ``client`` is a name, or name@version where a run has several versions."""

    client: str
    scenario: str
    guarantee: str
    variant: str
    seed: int


_Attempts = list[TrialVerdict]
_Tried = dict[_Key, dict[str, _Attempts]]
_Reasons = dict[tuple[object, ...], set[str]]


def side(trials: Iterable[TrialSpec], verdicts: Iterable[TrialVerdict]) -> Side:
    """A run, by its plan and what came of it."""
    return Side({spec.trial: spec for spec in trials}, list(verdicts))


def compare(old: Side, new: Side) -> list[Difference]:
    """Every trial that is in either run, the worst change first."""
    several = {name for one in (old, new) for name, versions in versions_of(one).items() if len(versions) > 1}
    before, after = _tried(old, several), _tried(new, several)
    chance = _by_chance(before, after)
    found = [
        difference
        for key in before.keys() | after.keys()
        for difference in _differences(key, before.get(key, {}), after.get(key, {}), old, new, chance)
    ]
    return sorted(
        found, key=lambda each: (list(VerdictChange).index(VerdictChange(each.change)), _place(each))
    )


def versions_of(one: Side) -> dict[str, list[str]]:
    """Each client of a run, and its versions there."""
    found: dict[str, set[str]] = defaultdict(set)
    for spec in one.specs.values():
        found[spec.client.name].add(spec.client.version)
    return {name: sorted(versions) for name, versions in sorted(found.items())}


def _tried(one: Side, several: set[str]) -> _Tried:
    tried: _Tried = defaultdict(lambda: defaultdict(list))
    for verdict in one.verdicts:
        ref = one.specs[verdict.trial].client
        client = str(ref) if ref.name in several else ref.name
        key = _Key(client, verdict.scenario, verdict.guarantee, verdict.variant, verdict.seed)
        tried[key][verdict.broker].append(verdict)
    return tried


def _differences(
    key: _Key,
    before: Mapping[str, _Attempts],
    after: Mapping[str, _Attempts],
    old: Side,
    new: Side,
    chance: set[tuple[_Key, str]],
) -> Iterator[Difference]:
    for broker in before.keys() & after.keys():
        was, now = before[broker], after[broker]
        change, why = _change(was, now), _incomparable(old.specs[was[0].trial], new.specs[now[0].trial])
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


def _incomparable(old: TrialSpec, new: TrialSpec) -> str:
    """In what the trial was not the same, empty if it was."""
    parts = {"faults": old.faults == new.faults, "workload": old.workload == new.workload}
    parts["configuration"] = old.config == new.config
    other = [name for name, same in parts.items() if not same]
    return f"not with the same {' and '.join(other)}" if other else ""


def _change(was: _Attempts, now: _Attempts) -> VerdictChange:
    old, new = Verdict(decisive(was).verdict), Verdict(decisive(now).verdict)
    alike = _alike(_reasons(was, old), _reasons(now, new))
    # What fails in the same way and is no longer known, or not yet, is another list and no other client.
    if new is Verdict.FAIL and (old not in FAILED or (old is Verdict.EXPECTED_FAIL and not alike)):
        return VerdictChange.REGRESSION
    if old in FAILED and new in PASSED:
        return VerdictChange.FIXED
    return VerdictChange.SAME if old is new and (alike or new is Verdict.PASS) else VerdictChange.CHANGED


def _failed(attempts: _Attempts) -> bool:
    return decisive(attempts).verdict in FAILED


def _reasons(attempts: _Attempts, verdict: Verdict) -> _Reasons:
    """What the attempts with this verdict say: codes with their names, and the names that they list."""
    told: _Reasons = defaultdict(set)
    for attempt in attempts:
        if attempt.verdict == verdict:
            found = [(each.finding.anomaly, each.finding.params) for each in findings(attempt)]
            for code, params in found if verdict in ACCUSED and found else [(attempt.code, attempt.params)]:
                kind = kind_of(code, params)
                told[kind.code, kind.values] |= kind.names
    return told


def _alike(old: _Reasons, new: _Reasons) -> bool:
    """True if both say the same, and of errors at least one in common: which of several were met is chance."""
    return old.keys() == new.keys() and all(
        names & new[said] or not (names or new[said]) for said, names in old.items()
    )


def _result(attempts: _Attempts) -> Result:
    told = decisive(attempts)
    alike = sum(attempt.verdict == told.verdict for attempt in attempts)
    return Result(told.client, told.verdict, told.reason, alike, len(attempts), told.trial)


def _by_chance(before: _Tried, after: _Tried) -> set[tuple[_Key, str]]:
    """Where both runs fail sometimes and sometimes not, about as often: by key without its seed, and broker."""
    old, new = _rates(before), _rates(after)
    return {
        place
        for place in old.keys() & new.keys()
        if all(0 < failed < of for failed, of in (old[place], new[place]))
        if _overlap(_interval(*old[place]), _interval(*new[place]))
    }


def _rates(tried: _Tried) -> dict[tuple[_Key, str], tuple[int, int]]:
    """How often it failed, of how many attempts in which something was told."""
    found: dict[tuple[_Key, str], tuple[int, int]] = {}
    for key, brokers in tried.items():
        for broker, attempts in brokers.items():
            failed, of = found.get((key._replace(seed=0), broker), (0, 0))
            failed += sum(attempt.verdict in FAILED for attempt in attempts)
            of += sum(attempt.verdict in FAILED | PASSED for attempt in attempts)
            found[key._replace(seed=0), broker] = failed, of
    return found


def _interval(failed: int, of: int) -> tuple[float, float]:
    """Wilson's interval: where the true rate may lie."""
    z2 = DEVIATIONS**2
    middle = (failed + z2 / 2) / (of + z2)
    half = DEVIATIONS / (of + z2) * sqrt(failed * (of - failed) / of + z2 / 4)
    return middle - half, middle + half


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _place(difference: Difference) -> tuple[str | int, ...]:
    return (
        difference.client,
        difference.scenario,
        difference.guarantee,
        difference.variant,
        difference.seed,
        difference.broker,
    )
