"""A workload: what a client is asked to do, how its results are counted, and which tables they fill.

The runners, the judge, the Parquet writer and the reports use a workload only through this interface. Third parties
register theirs under the entry-point group ``kafka_trial.workloads``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.model.consumer_contract import Assign, Subscribe
from harness.model.contract import LoadCommand
from harness.model.dice import Dice
from harness.model.errors import UsageError, unknown
from harness.model.evidence import Evidence
from harness.model.rows import Ending, TrialVerdict
from harness.model.spec import ClientRef, TrialSpec
from harness.model.verdicts import Guarantee, Verdict
from harness.text.counting import some

Setting = str | int | bool
Config = dict[str, Setting]
#: The values of a setting: a range of whole numbers, words, or None for true and false.
Values = range | tuple[str, ...] | None
Columns = Mapping[str, str]
ColumnData = dict[str, list[Any]]


@dataclass(frozen=True)
class Param:
    """A parameter of a workload: a whole number, named with its unit, with its bounds."""

    name: str
    default: int
    low: int
    high: int
    what: str


@dataclass(frozen=True)
class PackedTrial:
    """The data from which the rows of one trial's tables are made.

    ``found`` holds the results of third parties' finders by kind of anomaly; a missing kind could not be judged.
    """

    run: str
    evidence: Evidence
    verdict: TrialVerdict
    found: Mapping[str, Iterable[Any]]

    @property
    def counted(self) -> bool:
        """True if the judge counted operations. It does not if it judged nothing."""
        verdict = self.verdict
        ruled = verdict.requirements or verdict.verdict not in (Verdict.UNSUPPORTED, Verdict.HARNESS_ERROR)
        return self.evidence.record.ending is Ending.COMPLETE and bool(ruled)


@dataclass(frozen=True)
class Table:
    """One table of packed evidence: its columns (name -> type, with ``?`` if it may be null) and a trial's rows."""

    columns: Columns
    rows: Callable[[PackedTrial], ColumnData]


def nothing_drawn(_: Dice) -> Config:
    """Return no settings: those of a trial do not depend on its seed."""
    return {}


def nothing_essential(_: Guarantee) -> tuple[str, ...]:
    """Return no setting: a client keeps the guarantee whatever it cannot set."""
    return ()


def no_identity(_topic: str, _name: str) -> Config:
    """Return no settings: a client id is enough."""
    return {}


def size(spec: TrialSpec) -> dict[str, str]:
    """Return the number of elements and of the topic's partitions, in words."""
    load, kind = spec.workload, spec.workload.kind
    return {kind: f"{some(load.records, 'element')}, {some(load.partitions, 'partition')}"}


def never_refused(_: Mapping[str, Setting]) -> str | None:
    """Return None: the Java client would refuse no settings."""
    return None


@dataclass(frozen=True, eq=False)
class WorkloadKind:
    """One kind of workload.

    ``command`` makes the command for the given elements of the load; ``commands`` are the classes of all commands that
    it makes. ``features`` maps each guarantee of this workload to the feature that a client must declare for it.

    ``config`` returns the Java-named settings that make a client promise a guarantee, given those that override them;
    ``drawn`` returns those that the seed decides. ``refused`` says why the Java client would refuse some settings.
    ``settings`` are those that a campaign may vary, and ``withheld`` the others: a pattern of names -> why not.
    ``setting_meanings`` says what a setting does.
    ``needed`` are those that checks calculate with: every plan must give each of them as a whole number. ``essential``
    are those of a guarantee: a client that cannot set one of them does not offer the guarantee.

    A request of ``api`` shows that the client is working: generated faults start with one, and the runner waits as long
    as there are some. ``apis`` are the other APIs that clients ask; faults may act on frames of all of them.
    ``role`` is what a client is configured as. ``done`` is what messages call an element whose outcome is ok.

    ``counts`` are the numbers that a verdict publishes, and ``meaning`` describes each of them. ``outcomes`` are those
    that tell a user what happened to the data: each counts elements, and fewer are better. ``recounted`` is True
    if the report's second judgement counts them too. ``shown`` returns what pages show of a trial's load: heading ->
    text.

    If the clients consume, ``members`` returns the places with which the trial's group begins, each with its client,
    and ``begin`` the first command of each of them, given the trial's topic. ``command`` then makes the records that
    the harness writes.

    ``identity`` returns settings that each producer has for itself, given the trial's topic and its name. If
    ``stable_within_ms`` is not None, the harness reads the log only when no transaction is open, and waits for that
    for at most as long as it returns.
    """

    name: str
    summary: str
    command: Callable[[TrialSpec, str, str, range], LoadCommand]
    commands: tuple[type[LoadCommand], ...]
    features: Mapping[Guarantee, str]
    config: Callable[[Guarantee, Config], Config]
    counts: Callable[[Evidence], dict[str, int]]
    meaning: Mapping[str, str]
    api: str
    refused: Callable[[Mapping[str, Setting]], str | None] = never_refused
    settings: Mapping[str, Values] = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)
    drawn: Callable[[Dice], Config] = nothing_drawn
    essential: Callable[[Guarantee], tuple[str, ...]] = nothing_essential
    apis: tuple[str, ...] = ("ApiVersions", "Metadata")
    role: str = "client"
    done: str = "acknowledged"
    shown: Callable[[TrialSpec], Mapping[str, str]] = size
    params: tuple[Param, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    outcomes: tuple[str, ...] = ()
    recounted: bool = False
    needed: tuple[str, ...] = ()
    setting_meanings: Mapping[str, str] = field(default_factory=dict)
    members: Callable[[TrialSpec], Mapping[str, ClientRef]] | None = None
    begin: Callable[[TrialSpec, str], Subscribe | Assign] | None = None
    identity: Callable[[str, str], Config] = no_identity
    stable_within_ms: Callable[[TrialSpec], int] | None = None

    @property
    def element(self) -> str:
        """What messages call one element of the load."""
        return self.commands[0].element

    def values(self, given: Mapping[str, int]) -> dict[str, int]:
        """Return all parameters: those given, and the defaults of the others.

        Raises UsageError for one that is unknown or out of bounds.
        """
        known = {param.name: param for param in self.params}
        for name, value in given.items():
            if name not in known:
                raise unknown(f"parameter of the workload {self.name!r}", name, known)
            if not known[name].low <= value <= known[name].high:
                raise UsageError(
                    "workload-param-range",
                    "{name} of the workload {workload!r} must be {low} to {high}, not {value}",
                    name=name,
                    workload=self.name,
                    low=known[name].low,
                    high=known[name].high,
                    value=value,
                )
        return {name: given.get(name, param.default) for name, param in known.items()}
