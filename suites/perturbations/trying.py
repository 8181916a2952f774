"""Whether a perturbed trial is accused as it should be. Each trial is judged in this process, and unperturbed as well.

Pure, except for the entry points. A trial that is accused without a change proves nothing about the change,
and is left out. Channels that a perturbation does not change must not contradict it. Trace and capture are
therefore left out of the evidence, as another client would leave it, unless the perturbation concerns them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from msgspec.structs import replace as changed

import harness
from harness.model.anomaly import Anomaly, ReasonKind
from harness.model.evidence import Evidence
from harness.model.rows import TrialVerdict
from harness.model.spec import OWN, ClientRef
from harness.model.verdicts import Verdict
from harness.plugins import registry
from harness.plugins.perturbation import Perturbation, Place
from harness.simulated.judged import judged
from suites import checks
from suites.perturbations.perturbation import drawn

PASSING = (Verdict.PASS, Verdict.DIFFERS)
#: Verdicts that are as bad as expected, or worse.
AT_LEAST = {
    Verdict.DIFFERS: (Verdict.DIFFERS, Verdict.FAIL),
    Verdict.FAIL: (Verdict.FAIL,),
    Verdict.HARNESS_ERROR: (Verdict.HARNESS_ERROR,),
}
#: Channels that only some clients or runs leave.
OPTIONAL = frozenset({"trace", "capture"})
#: The name of a client that behaves the same and writes no trace.
TRACELESS = "traceless"


class Result(StrEnum):
    """The result of one perturbation in one place."""

    CAUGHT = "caught"
    #: By a finding that the perturbation does not name.
    OTHERWISE = "caught-otherwise"
    ESCAPED = "escaped"


@dataclass(frozen=True)
class Trying:
    """One perturbation of one trial in one place, and the resulting judgement."""

    perturbation: str
    trial: str
    place: str
    result: Result
    verdict: str
    reason: str
    codes: tuple[str, ...] = ()


def try_trial(evidence: Evidence, kinds: Iterable[Perturbation], seed: int, tries: int) -> Iterator[Trying]:
    """Try every kind that fits, in up to ``tries`` places of the trial.

    Yields nothing if the unchanged trial is accused.
    """
    bases: dict[bool, tuple[Evidence, TrialVerdict]] = {}
    for kind in kinds:
        whole = bool(kind.channels & OPTIONAL)
        if whole not in bases:
            chosen = evidence if whole else plain(evidence)
            bases[whole] = chosen, judged(chosen)
        base, verdict = bases[whole]
        if verdict.verdict in PASSING:
            for place in drawn(kind, base, seed, tries):
                yield _tried(kind, base, verdict, place)


def plain(evidence: Evidence) -> Evidence:
    """Return the evidence without trace and capture, as a client without a trace leaves it."""
    record = changed(evidence.record, capture=None)
    if evidence.trace:
        client = ClientRef(TRACELESS, OWN, (TRACELESS,))
        features = record.client.get("features")
        told = [each for each in features if each != "trace"] if isinstance(features, list) else []
        record = changed(
            record, spec=changed(record.spec, client=client), client=record.client | {"features": told}
        )
    return replace(evidence, record=record, trace=(), tcp=())


def known_codes() -> frozenset[str]:
    """Return the codes of anomalies and reasons that a registered check, or the judge, can give."""
    found = {check.run.__module__ for check in registry.checks().values()}
    ours = (name for name in sys.modules if name.startswith((f"{harness.__name__}.", checks.__name__)))
    return _codes_in(frozenset(found.union(ours)))


@cache
def _codes_in(modules: frozenset[str]) -> frozenset[str]:
    """Return the codes in these modules, which are complete. Each kind is looked up among them."""
    values = (value for name in modules for value in list(vars(sys.modules[name]).values()))
    return frozenset(value.code for value in values if isinstance(value, Anomaly | ReasonKind))


def _tried(kind: Perturbation, base: Evidence, before: TrialVerdict, place: Place) -> Trying:
    after = judged(kind.apply(base, place))
    new = _found(after) - _found(before)
    codes = tuple(sorted({code for code, _, _ in new} | ({after.code} if _is_error(after) else set())))
    if Verdict(after.verdict) not in AT_LEAST[kind.verdict] or not codes:
        result = Result.ESCAPED
    else:
        result = Result.CAUGHT if set(codes) & set(kind.caught_by) else Result.OTHERWISE
    reason = after.reason or after.verdict
    trial = before.trial
    return Trying(kind.name, trial, _told(place), result, after.verdict, reason, codes)


def _told(place: Place) -> str:
    """Return a place as text."""
    if isinstance(place, tuple):
        return "/".join(_told(each) for each in place)
    return str(place)


def _is_error(verdict: TrialVerdict) -> bool:
    return verdict.verdict == Verdict.HARNESS_ERROR


def _found(verdict: TrialVerdict) -> set[tuple[str, str, str]]:
    """Return code, requirement and message of each finding, in order to recognize known ones."""
    return {
        (finding.anomaly, requirement.id, finding.message)
        for requirement in verdict.requirements
        for finding in requirement.findings
    }


@dataclass(frozen=True)
class EditStats:
    """How often one kind was tried, and the results."""

    kind: Perturbation
    tried: Sequence[Trying]

    def count(self, result: Result) -> int:
        """Return how many tries had this result."""
        return sum(each.result is result for each in self.tried)

    @property
    def awaited(self) -> tuple[str, ...]:
        """The codes that should catch it, if no check can give any of them."""
        return () if set(self.kind.caught_by) & known_codes() else self.kind.caught_by

    @property
    def escaped(self) -> list[Trying]:
        """The tries that were not accused."""
        return [each for each in self.tried if each.result is Result.ESCAPED]


def tallies(kinds: Mapping[str, Perturbation], tried: Iterable[Trying]) -> list[EditStats]:
    """Return one tally for each kind, tried or not."""
    of: dict[str, list[Trying]] = {name: [] for name in kinds}
    for each in tried:
        of[each.perturbation].append(each)
    return [EditStats(kind, of[name]) for name, kind in kinds.items()]
