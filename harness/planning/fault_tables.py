"""The tables of faults in a campaign file. They are checked against the known fault kinds and turned into scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from harness.model.dice import Dice
from harness.model.errors import UsageError, unknown
from harness.model.mode import Mode
from harness.model.spec import ClientRef, FaultSpec, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.planning import validate_faults, validate_plan
from harness.planning.fault_strategies import (
    Amount,
    DrawnFrames,
    DrawnKind,
    DrawnScenario,
    FaultTable,
    OneOf,
    ends,
    on_its_way,
)
from harness.planning.strict_toml import at, below, typed
from harness.plugins import registry

MOST_FAULTS: Final = 100
#: How many faults of each kind are drawn to check that its parameters are possible.
PROBES: Final = 20
PROBE: Final = TrialSpec(
    "probe", ClientRef("any", "0"), "any:x1", "any", Guarantee.IDEMPOTENT, 0, Workload(), (), {}
)
MANY: Final = 2**31 - 1


class AboutKind(msgspec.Struct, frozen=True):
    """The keys of a fault kind in a table, besides its own parameters."""

    duration_ms: Annotated[
        Amount | None, Meta(description="How long it lasts; default: as the table says.")
    ] = None
    broker: Annotated[Amount | None, Meta(description="The number of its broker; default: all brokers.")] = (
        None
    )
    frames: Annotated[
        DrawnFrames | None, Meta(description="The frames, for kinds that act on single frames.")
    ] = None


OWN: Final = AboutKind.__struct_fields__


class Generated(msgspec.Struct, frozen=True):
    """A table from which schedules of faults are drawn, one per seed."""

    kinds: Annotated[dict[str, dict[str, Any]], Meta(description="Kinds of fault, each with its parameters.")]
    faults: Annotated[Amount, Meta(description="How many faults a schedule has.")] = (2, 4)
    duration_ms: Annotated[Amount, Meta(description="How long a fault lasts.")] = (200, 2_000)
    load: Annotated[
        Workload,
        Meta(
            description="What the client sends: records, records_per_command, interval_ms, partitions, keys, "
            "value_bytes."
        ),
    ] = Workload()


def scenario_of(name: str, given: Generated, behind: DrawnScenario, brokers: Sequence[str]) -> DrawnScenario:
    """Return the scenario of a table; ``behind`` judges it.

    Raise UsageError for faults that are impossible on one of ``brokers``, or under which no client could be judged.
    """
    where = f"generated.{name}"

    def accept(fault: FaultSpec) -> None:
        registry.fault(fault.kind).check(fault, Mode.LIVE)
        if reason := behind.unfair(fault):
            raise UsageError(
                "fault-not-judged",
                "fault {fault!r} cannot be judged here: {reason}",
                fault=fault.kind,
                reason=reason,
            )

    if not given.kinds:
        raise UsageError("no-fault-kinds", "{where}.kinds: give at least one", where=where)
    _within(given.faults, 1, MOST_FAULTS, f"{where}.faults")
    _within(given.duration_ms, 0, validate_faults.LONGEST_MS, f"{where}.duration_ms")
    if given.load.kind != behind.workload.kind:
        raise UsageError(
            "drawn-workload-fixed",
            "{where}.load.kind: drawn schedules are tried with the workload {workload!r} only, not with {given!r}",
            where=where,
            workload=behind.workload.kind,
            given=given.load.kind,
        )
    for part, (low, high) in validate_plan.BOUNDS.items():
        _within(getattr(given.load, part), low, high, f"{where}.load.{part}")
    kinds = tuple(_kind(kind, about, given, f"{where}.kinds") for kind, about in given.kinds.items())
    table = FaultTable(given.faults, kinds, given.load, accept)
    for kind in kinds:
        with at(below(f"{where}.kinds", kind.kind)):
            _probe(kind, table, brokers)

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        with at(where):
            return table.schedule(dice)

    return replace(behind, schedule=drawn, workload=given.load)


def _kind(name: str, given: Mapping[str, Any], table: Generated, where: str) -> DrawnKind:
    with at(where):
        kind = registry.fault(name)
    place, known = below(where, name), {param.name: param for param in kind.params}
    for key in given:
        if key not in known and key not in OWN:
            raise unknown(f"parameter of fault {name!r}, in {place},", key, [*known, *OWN])
    own = typed({key: given[key] for key in OWN if key in given}, AboutKind, place)
    params = {key: typed(given[key], Amount, below(place, key)) for key in known if key in given}
    for key, amount in params.items():
        _within(amount, known[key].low, known[key].high, below(place, key))
    duration_ms = table.duration_ms if own.duration_ms is None else own.duration_ms
    _within(duration_ms, 0, validate_faults.LONGEST_MS, f"{place}.duration_ms")
    if own.broker is not None:
        _within(own.broker, 1, MANY, f"{place}.broker")
    if own.frames is not None:
        _within(own.frames.first, 1, MANY, f"{place}.frames.first")
        _within(own.frames.count, 1, MANY, f"{place}.frames.count")
    return DrawnKind(name, duration_ms, params, own.broker, own.frames)


def _within(amount: Amount, low: int, high: int, where: str) -> None:
    match amount:
        case OneOf(one_of=()):
            raise UsageError("empty-choice", "{where}: one_of has no numbers", where=where)
        case (first, last) if first > last:
            raise UsageError(
                "empty-range",
                "{where}: [{first}, {last}] is not a range; one_of = [{first}, {last}] means either number",
                where=where,
                first=first,
                last=last,
            )
    for end in ends(amount):
        if not low <= end <= high:
            raise UsageError(
                "value-out-of-range",
                "{where} must be {low} to {high}, not {end}",
                where=where,
                low=low,
                high=high,
                end=end,
            )


def _probe(kind: DrawnKind, table: FaultTable, brokers: Sequence[str]) -> None:
    """Raise the kind's UsageError if a fault of this kind cannot be made."""
    for seed in range(PROBES):
        dice = Dice(seed, "probe")
        api = registry.workload(table.workload.kind).api
        fault = kind.drawn(dice, on_its_way(dice, table.workload.load_ms, api), table.accept, api)
        for broker in brokers:
            trial = msgspec.structs.replace(PROBE, broker=broker, workload=table.workload, faults=(fault,))
            validate_faults.check([trial], Mode.LIVE)
