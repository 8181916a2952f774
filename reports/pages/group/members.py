"""The processes of a group: when each lived, was frozen or took part in a rebalance, and in which generation it was.

The generation is what the coordinator answered on the wire, so that it is known of any client: the generation of
JoinGroup, or the member epoch of ConsumerGroupHeartbeat (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.judging.availability import Span
from harness.model.consumer_contract import PartitionsAssigned
from harness.model.contract import OpInvoke, ShutdownComplete
from harness.model.evidence import Evidence
from harness.model.exchanges import Exchange, connections
from harness.model.harness_events import MemberFrozen, MemberKilled, MemberStarted, MemberThawed

#: APIs whose answers name the member's generation or epoch.
_EPOCHS = ("JoinGroup", "ConsumerGroupHeartbeat")


@dataclass
class Member:
    """One process. ``end_ns`` is None if no event tells its end; ``ended`` says how it came.

    ``generations`` are pairs of a time and the generation from then on. ``joining`` are the periods from a JoinGroup
    request to the next answer of SyncGroup. ``companion`` is its client if that is not the client under test.
    """

    process: str
    begin_ns: int
    companion: str = ""
    end_ns: int | None = None
    ended: str = ""
    closing_ns: int | None = None
    frozen: list[Span] = field(default_factory=list)
    joining: list[Span] = field(default_factory=list)
    generations: list[tuple[int, int]] = field(default_factory=list)

    @property
    def place(self) -> int:
        """The number of its place in the group, from 0: 1 for ``m2`` and its successors. 0 for an unusual name."""
        number = self.process.partition("-")[0][1:]
        return max(0, int(number) - 1) if number.isdecimal() and len(number) < 10 else 0

    @property
    def turn(self) -> int:
        """How many processes had its place before: 1 for ``m2-2``."""
        number = self.process.partition("-")[2]
        return max(0, int(number) - 1) if number.isdecimal() and len(number) < 10 else 0


def members(evidence: Evidence, end_ns: int) -> dict[str, Member]:
    """Return process -> the process, in the order of their start. What has no end lasts until ``end_ns``."""
    found: dict[str, Member] = {}
    frozen_ns: dict[str, int] = {}
    for event in evidence.history:
        if isinstance(event, MemberStarted):
            found[event.member] = Member(event.member, event.mono_ns, event.companion)
        member = found.get(str(event.producer))
        if member is None:
            continue
        match event:
            case MemberFrozen():
                frozen_ns.setdefault(member.process, event.mono_ns)
            case MemberThawed():
                _thaw(member, frozen_ns, event.mono_ns)
            case MemberKilled() | ShutdownComplete():
                _thaw(member, frozen_ns, event.mono_ns)
                member.end_ns = event.mono_ns
                member.ended = "killed" if isinstance(event, MemberKilled) else "closed"
            case OpInvoke(op="close"):
                member.closing_ns = event.mono_ns
            case _:
                pass
    for process in list(frozen_ns):
        _thaw(found[process], frozen_ns, end_ns)
    _read_wire(evidence, found, end_ns)
    _read_events(evidence, found)
    return found


def _thaw(member: Member, frozen_ns: dict[str, int], at_ns: int) -> None:
    if (since_ns := frozen_ns.pop(member.process, None)) is not None:
        member.frozen.append(Span(since_ns, at_ns))


def _read_wire(evidence: Evidence, found: dict[str, Member], end_ns: int) -> None:
    of: dict[str, list[Exchange]] = {process: [] for process in found}
    for connection in connections(evidence).values():
        for each in connection.exchanges:
            if each.request.client_id in of:
                of[each.request.client_id].append(each)
    for process, exchanges in of.items():
        exchanges.sort(key=lambda each: each.request.arrived_ns)
        until_ns = found[process].end_ns or end_ns
        found[process].generations = _changes(_epochs(exchanges))
        found[process].joining = _rounds(exchanges, until_ns)


def _epochs(exchanges: Iterable[Exchange]) -> list[tuple[int, int]]:
    """Return when an answer told each generation. A negative one, as in the answer to leaving, is none."""
    told = []
    for each in exchanges:
        answer = each.answer
        if each.request.api in _EPOCHS and answer is not None and not answer.error_codes:
            epochs = (part.epoch for part in answer.members[:1])
            told += [(answer.t_ns, epoch) for epoch in epochs if epoch is not None and epoch >= 0]
    return sorted(told)


def _rounds(exchanges: Iterable[Exchange], end_ns: int) -> list[Span]:
    begun_ns: int | None = None
    spans = []
    for each in exchanges:
        api, answer = each.request.api, each.answer
        if api == "JoinGroup" and begun_ns is None:
            begun_ns = each.request.arrived_ns
        elif api == "SyncGroup" and begun_ns is not None and answer is not None and not answer.error_codes:
            spans.append(Span(begun_ns, answer.t_ns))
            begun_ns = None
    return spans if begun_ns is None else [*spans, Span(begun_ns, max(begun_ns, end_ns))]


def _read_events(evidence: Evidence, found: dict[str, Member]) -> None:
    """Take generations from the listeners of those processes of which the wire tells none."""
    told: dict[str, list[tuple[int, int]]] = {}
    for event in evidence.history:
        if isinstance(event, PartitionsAssigned) and event.generation >= 0:
            told.setdefault(str(event.producer), []).append((event.mono_ns, event.generation))
    for process, generations in told.items():
        if process in found and not found[process].generations:
            found[process].generations = _changes(generations)


def _changes(told: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    changes: list[tuple[int, int]] = []
    for at_ns, generation in told:
        if not changes or changes[-1][1] != generation:
            changes.append((at_ns, generation))
    return changes
