"""Group verdicts by cause, so that twelve trials with the same failure are reported as one. Pure.

A cause is a client in its version, a code, and the code's parameters. The code is that of the anomaly, or of the reason
if there is none. Names among the parameters must be equal; numbers are ignored. If a parameter lists names, such as
errors, one trial may have met more of them than another. Trials are then grouped by the name that most of them share,
the rest by the name that most of the rest share, and so on. A finding that another finding of its trial explains is
reported with it and is not a separate cause.

The fingerprint is a short hash of client, code and names. It is the same in every run that has the cause. It does not
depend on sentences or on the order of the verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from harness.judging.repeats import ACCUSATIONS
from harness.model.rows import Finding, Param, RequirementVerdict, TrialVerdict
from harness.model.verdicts import SEVERITY, Level, Verdict
from harness.text.commands import replay_command
from harness.text.counting import some
from harness.text.version_order import by_version

_ACCUSED = frozenset({Verdict.FAIL, Verdict.EXPECTED_FAIL, Verdict.DIFFERS})


class Cause(msgspec.Struct, frozen=True):
    """Trials with one verdict for one reason. If there is no finding, ``anomaly`` and ``level`` are empty.

    ``code`` is the anomaly's or the reason's. ``message`` is that of the ``smallest`` trial. ``faults`` are the kinds
    that hit in all of the ``trials``, and ``explains`` are the anomalies that follow from it in some of them.
    ``attempts`` counts all attempts of the run at the same trials, whatever their results. ``is_command`` and
    ``client_env`` are those of the smallest trial's client.
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
    variants: tuple[str, ...] = ()
    is_command: bool = False
    client_env: tuple[str, ...] = ()


class Replayed(Protocol):
    """What a replay needs to know about the client: a verdict, or a cause."""

    @property
    def is_command(self) -> bool:
        """True if the client is a command of the user."""

    @property
    def client_env(self) -> tuple[str, ...]:
        """The environment variables that it got besides the usual ones."""


class Found(NamedTuple):
    """A finding of one trial, and all requirements that it violates."""

    finding: Finding
    requirements: tuple[RequirementVerdict, ...]


#: A finding's code, its requirement, and its parameters.
FindingKey = tuple[str, str, bytes]


class Kind(NamedTuple):
    """What findings of one kind share: the code, its parameters that are names, and the names in lists."""

    code: str
    values: tuple[tuple[str, str], ...]
    names: frozenset[str]


class _Symptom(NamedTuple):
    """The evidence of one trial for one cause."""

    trial: TrialVerdict
    verdict: Verdict
    anomaly: str
    kind: Kind
    message: str
    requirements: tuple[RequirementVerdict, ...] = ()
    explains: tuple[str, ...] = ()


def kind_of(code: str, params: Mapping[str, Param]) -> Kind:
    """Return the kind of a finding or a reason. Numbers are amounts and are ignored."""
    values = sorted((name, value) for name, value in params.items() if isinstance(value, str))
    names = (each for value in params.values() if isinstance(value, list | tuple) for each in value)
    return Kind(code, tuple(values), frozenset(names))


def findings(verdict: TrialVerdict) -> list[Found]:
    """Return the findings of a trial without repetitions: one finding may violate several requirements."""
    found: dict[FindingKey, Found] = {}
    for requirement in verdict.requirements:
        for finding in requirement.findings:
            known = found.get(key_of(finding), Found(finding, ()))
            found[key_of(finding)] = Found(finding, (*known.requirements, requirement))
    return list(found.values())


def key_of(finding: Finding) -> FindingKey:
    """Return what identifies a finding within its trial: its code and its parameters."""
    return finding.anomaly, finding.requirement, msgspec.json.encode(finding.params, order="sorted")


def same_trial(verdict: TrialVerdict) -> tuple[str, ...]:
    """Return what all attempts at one trial share."""
    seed = str(verdict.seed)
    return verdict.client, verdict.broker, verdict.scenario, verdict.guarantee, verdict.variant, seed


def causes(verdicts: Iterable[TrialVerdict]) -> list[Cause]:
    """Return why trials did not pass, the worst and then the most frequent cause first.

    A trial may have several causes.
    """
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
    """Return a cause as one line for people: client, finding, faults, frequency."""
    return f"{what(cause)}: {cause.message} ({often(cause)})"


def what(cause: Cause) -> str:
    """Return the client, the finding, and the faults after which it occurred."""
    after = f" after {_listed(fault.replace('_', ' ') for fault in cause.faults)}" if cause.faults else ""
    return f"{cause.client}: {cause.anomaly or cause.verdict}{after}"


def often(cause: Cause) -> str:
    """Return the number of trials and scenarios with the cause, and of all attempts at them."""
    told = f"{some(len(cause.trials), 'trial')}, {some(len(cause.scenarios), 'scenario')}"
    if any(cause.variants):
        told += f", with {_listed(variant or 'the common settings' for variant in cause.variants)}"
    return f"{told}; in {len(cause.trials)} of {cause.attempts} attempts" if cause.repeated else told


def decisive(attempts: Sequence[TrialVerdict]) -> TrialVerdict:
    """Return the attempt that represents all: one with a finding, which no other can refute; otherwise the worst."""
    return min(
        attempts,
        key=lambda each: (each.verdict not in ACCUSATIONS, SEVERITY.index(Verdict(each.verdict))),
    )


def document(cause: Cause, run: Path) -> dict[str, Any]:
    """Return the cause for other programs, with the line for people and the command that reproduces it."""
    return {
        **msgspec.structs.asdict(cause),
        "line": line(cause),
        "replay": replay(run, cause.smallest, cause),
    }


def replay(run: Path, trial: str, of: Replayed) -> str:
    """Return the command that runs a trial of the run in this folder again."""
    return replay_command(run / "trials" / trial, is_command=of.is_command, env=of.client_env)


def _symptoms(trial: TrialVerdict) -> Iterator[_Symptom]:
    verdict, found = Verdict(trial.verdict), findings(trial)
    if verdict is not Verdict.PASS and (verdict not in _ACCUSED or not found):
        yield _Symptom(trial, verdict, "", kind_of(trial.code, trial.params), trial.reason)
    # Differences that were not counted are listed, whatever the trial's verdict is without them.
    if verdict not in _ACCUSED | {Verdict.PASS, Verdict.NOT_EXERCISED}:
        return
    explained = {code for each in found for code in each.finding.explains}
    # Several findings of one kind in a trial count once; the first one is reported.
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
    """Return the worst verdict of the requirements. A finding that is only a difference cannot fail a requirement."""
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
    """Divide them by the trait that most of them share. The trait is empty for those without any."""
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
        variants=_distinct(trial.variant for trial in trials),
        trials=_distinct(trial.trial for trial in trials),
        attempts=sum(tried[trial] for trial in same),
        repeated=any(tried[trial] > 1 for trial in same),
        smallest=first.trial.trial,
        code=first.kind.code,
        explains=_distinct(code for symptom in symptoms for code in symptom.explains),
        is_command=first.trial.is_command,
        client_env=first.trial.client_env,
    )


def _size(trial: TrialVerdict) -> tuple[int, int, int, str]:
    """Return the size of a trial.

    A smaller one is easier to understand: few faults, then short ones, then few records.
    """
    asked = [fault.requested_ns for fault in trial.faults if fault.requested_ns]
    return (
        len(trial.faults),
        sum(end - start for start, end in asked),
        trial.availability.offered,
        trial.trial,
    )


def _rank(cause: Cause) -> tuple[object, ...]:
    worst = SEVERITY.index(Verdict(cause.verdict))
    return worst, _norm(cause.level), -len(cause.trials), by_version(cause.client), cause.fingerprint


def _norm(level: str) -> tuple[bool, str]:
    """Return the sort key of a level: MUST before SHOULD."""
    return level != Level.MUST, level


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def _listed(words: Iterable[str]) -> str:
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
