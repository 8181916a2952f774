"""Verdicts grouped by cause: twelve trials that fail in the same way are one thing to look at, not twelve.

A cause is a client in its version, a code (the anomaly's, or that of the reason where nothing is accused) and its
parameters: names must be equal, numbers do not count. Of a parameter that lists names (errors, say) a trial may have
met one more than another: trials are parted by the name that most of them share, the rest by the one that most of those
share, and so on. A finding that another finding of its trial explains is told with it and is no cause of its own. The
fingerprint is a short hash of client, code and names, the same in every run that has the cause. Sentences are never
read. Pure, and independent of the order of the verdicts.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from harness.judging.repeats import ACCUSATIONS
from harness.model.rows import Finding, Param, RequirementVerdict, TrialVerdict
from harness.model.units import some
from harness.model.verdicts import SEVERITY, Level, Verdict

_ACCUSED = frozenset({Verdict.FAIL, Verdict.EXPECTED_FAIL, Verdict.DIFFERS})


class Cause(msgspec.Struct, frozen=True):
    """Trials with one verdict for one reason. ``anomaly`` is empty where nobody is accused; then ``level`` is too.

    ``code`` is the anomaly's or the reason's. ``message`` is that of the ``smallest`` trial, ``faults`` are the kinds
    that hit in all of the ``trials``, ``explains`` the anomalies that follow from it in some of them; ``attempts``
    counts all trials of the run that tried the same as these, whatever came out.
    """

    fingerprint: str
    verdict: str
    client: str
    anomaly: str
    message: str
    faults: tuple[str, ...]
    requirements: tuple[str, ...]
    level: str
    scenarios: tuple[str, ...]
    guarantees: tuple[str, ...]
    trials: tuple[str, ...]
    attempts: int
    repeated: bool
    smallest: str
    code: str = ""
    explains: tuple[str, ...] = ()


class Found(NamedTuple):
    """A finding of one trial, and all requirements of which it is one."""

    finding: Finding
    requirements: tuple[RequirementVerdict, ...]


#: A finding's code, the requirement that it names, its parameters.
FindingKey = tuple[str, str, bytes]


class Kind(NamedTuple):
    """What findings of one kind have in common: the code, its parameters that are names, and the names in lists."""

    code: str
    values: tuple[tuple[str, str], ...]
    names: frozenset[str]


class _Symptom(NamedTuple):
    """What one trial has to say for one cause."""

    trial: TrialVerdict
    verdict: Verdict
    anomaly: str
    kind: Kind
    message: str
    requirements: tuple[RequirementVerdict, ...] = ()
    explains: tuple[str, ...] = ()


def kind_of(code: str, params: Mapping[str, Param]) -> Kind:
    """The kind of a finding or a reason: numbers say how much, and never what."""
    values = sorted((name, value) for name, value in params.items() if isinstance(value, str))
    names = (each for value in params.values() if isinstance(value, list | tuple) for each in value)
    return Kind(code, tuple(values), frozenset(names))


def findings(verdict: TrialVerdict) -> list[Found]:
    """What a trial was accused of, each thing once: one finding may violate several requirements."""
    found: dict[FindingKey, Found] = {}
    for requirement in verdict.requirements:
        for finding in requirement.findings:
            known = found.get(key_of(finding), Found(finding, ()))
            found[key_of(finding)] = Found(finding, (*known.requirements, requirement))
    return list(found.values())


def key_of(finding: Finding) -> FindingKey:
    """What tells a finding of a trial from the others of that trial: its code and its parameters."""
    return finding.anomaly, finding.requirement, msgspec.json.encode(finding.params, order="sorted")


def same_trial(verdict: TrialVerdict) -> tuple[str, ...]:
    """What all attempts at one trial have in common."""
    seed = str(verdict.seed)
    return verdict.client, verdict.broker, verdict.scenario, verdict.guarantee, verdict.variant, seed


def causes(verdicts: Iterable[TrialVerdict]) -> list[Cause]:
    """Why trials did not pass, the worst and then the most frequent first. A trial may have several causes."""
    trials = list({verdict.trial: verdict for verdict in verdicts}.values())
    tried = Counter(map(same_trial, trials))
    alike: dict[tuple[object, ...], list[_Symptom]] = {}
    for trial in trials:
        for symptom in _symptoms(trial):
            key = (symptom.verdict, trial.client, symptom.anomaly, symptom.kind.code, symptom.kind.values)
            alike.setdefault(key, []).append(symptom)
    found = [
        _cause(name, symptoms, tried)
        for of_one_kind in alike.values()
        for name, symptoms in _parted(of_one_kind, lambda symptom: symptom.kind.names)
    ]
    return sorted(found, key=_rank)


def line(cause: Cause) -> str:
    """One line for a person: who, what, after which faults, how often."""
    return f"{what(cause)}: {cause.message} ({often(cause)})"


def what(cause: Cause) -> str:
    """Who did what, and after which faults."""
    after = f" after {_listed(fault.replace('_', ' ') for fault in cause.faults)}" if cause.faults else ""
    return f"{cause.client}: {cause.anomaly or cause.verdict}{after}"


def often(cause: Cause) -> str:
    """In how many trials, of how many scenarios, and in how many of all attempts at them."""
    told = f"{some(len(cause.trials), 'trial')}, {some(len(cause.scenarios), 'scenario')}"
    return f"{told}; in {len(cause.trials)} of {cause.attempts} attempts" if cause.repeated else told


def decisive(attempts: Sequence[TrialVerdict]) -> TrialVerdict:
    """The attempt that stands for all: one that accuses, for none that went otherwise takes it back, else the worst."""
    return min(
        attempts,
        key=lambda each: (each.verdict not in ACCUSATIONS, SEVERITY.index(Verdict(each.verdict))),
    )


def document(cause: Cause, run: Path) -> dict[str, Any]:
    """The cause for other programs, with the line for a person and how to see it again."""
    return {
        **msgspec.structs.asdict(cause),
        "line": line(cause),
        "replay": replay(run, cause.smallest),
    }


def replay(run: Path, trial: str) -> str:
    """The command that runs a trial of the run in this folder again."""
    return f"kafka-trial replay {shlex.quote(str(run / 'trials' / trial))}"


def _symptoms(trial: TrialVerdict) -> Iterator[_Symptom]:
    verdict = Verdict(trial.verdict)
    if verdict is Verdict.PASS:
        return
    if verdict not in _ACCUSED or not (found := findings(trial)):
        yield _Symptom(trial, verdict, "", kind_of(trial.code, trial.params), trial.reason)
        return
    explained = {code for each in found for code in each.finding.explains}
    # Several findings of one kind are one thing, of which the trial is a member once: the first is told.
    alike: dict[tuple[object, ...], list[Found]] = {}
    for each in sorted(found, key=lambda each: key_of(each.finding)):
        if each.finding.anomaly not in explained:
            kind = kind_of(each.finding.anomaly, each.finding.params)
            alike.setdefault((kind.code, kind.values), []).append(each)
    for members in alike.values():
        first = members[0].finding
        kind = kind_of(first.anomaly, first.params)
        names = frozenset().union(*(kind_of("", each.finding.params).names for each in members))
        requirements = tuple(requirement for each in members for requirement in each.requirements)
        follow = {each.finding.anomaly for each in found} & set(first.explains)
        yield _Symptom(
            trial,
            _verdict_of(members),
            first.anomaly,
            kind._replace(names=names),
            first.message,
            requirements,
            tuple(sorted(follow)),
        )


def _verdict_of(members: Sequence[Found]) -> Verdict:
    """The worst of its requirements; what is a difference by itself fails no requirement that something else failed."""
    worst = min(
        (Verdict(each.verdict) for found in members for each in found.requirements), key=SEVERITY.index
    )
    is_difference = all(found.finding.level != Level.MUST for found in members)
    return Verdict.DIFFERS if worst is Verdict.FAIL and is_difference else worst


def _hit(trial: TrialVerdict) -> frozenset[str]:
    return frozenset(fault.kind for fault in trial.faults if fault.hits > 0)


def _parted(
    symptoms: Sequence[_Symptom], traits: Callable[[_Symptom], frozenset[str]]
) -> Iterator[tuple[str, list[_Symptom]]]:
    """Part them by the trait that most of them share; an empty one for those that have none."""
    left = [(symptom, traits(symptom)) for symptom in symptoms]
    while left:
        counts = Counter(trait for _, has in left for trait in has)
        common = min(counts, key=lambda trait: (-counts[trait], trait), default="")
        yield common, [symptom for symptom, has in left if not common or common in has]
        left = [(symptom, has) for symptom, has in left if common and common not in has]


def _cause(name: str, symptoms: Sequence[_Symptom], tried: Counter[tuple[str, ...]]) -> Cause:
    first = min(symptoms, key=lambda symptom: _size(symptom.trial))
    trials = [symptom.trial for symptom in symptoms]
    requirements = [each for symptom in symptoms for each in symptom.requirements]
    same = set(map(same_trial, trials))
    values = (f"{param}={value}" for param, value in first.kind.values)
    parts = (first.trial.client, first.anomaly or first.verdict, first.kind.code, *values, name)
    return Cause(
        fingerprint=sha256("\0".join(parts).encode()).hexdigest()[:8],
        verdict=first.verdict,
        client=first.trial.client,
        anomaly=first.anomaly,
        message=first.message,
        faults=tuple(sorted(frozenset.intersection(*map(_hit, trials)))),
        requirements=_distinct(each.id for each in requirements),
        level=min((each.level for each in requirements), key=_norm, default=""),
        scenarios=_distinct(trial.scenario for trial in trials),
        guarantees=_distinct(trial.guarantee for trial in trials),
        trials=_distinct(trial.trial for trial in trials),
        attempts=sum(tried[trial] for trial in same),
        repeated=any(tried[trial] > 1 for trial in same),
        smallest=first.trial.trial,
        code=first.kind.code,
        explains=_distinct(code for symptom in symptoms for code in symptom.explains),
    )


def _size(trial: TrialVerdict) -> tuple[int, int, int, str]:
    """The smaller, the easier to understand: few faults, then short ones, then few records."""
    asked = [fault.requested_ns for fault in trial.faults if fault.requested_ns]
    return (
        len(trial.faults),
        sum(end - start for start, end in asked),
        trial.availability.offered,
        trial.trial,
    )


def _rank(cause: Cause) -> tuple[int, tuple[bool, str], int, str, str]:
    worst = SEVERITY.index(Verdict(cause.verdict))
    return worst, _norm(cause.level), -len(cause.trials), cause.client, cause.fingerprint


def _norm(level: str) -> tuple[bool, str]:
    """What must be comes before what should be."""
    return level != Level.MUST, level


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def _listed(words: Iterable[str]) -> str:
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
