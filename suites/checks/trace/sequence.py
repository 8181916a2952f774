"""# sequence

## What it does

Follows, from the client's trace, each partition's chain of sequence numbers: which numbers every batch was sent under,
at each attempt, and what was out, refused or unknown at that moment.

## Why it is bad

A broker knows a repeated batch by its numbers alone. A batch that goes again under other numbers is stored twice; other
records under numbers that were used are dropped as a repetition, and reported as safe.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden.
- **at-least-once, at-most-once**: not judged; such batches have no numbers.

## What it needs

The client's own trace; where a client tells none it is not asked.

## References

PRD-IDM-01 to -04, -07, -09, -10, -13 (KIP-98, KIP-360), PRD-EXP-06, -07 (KIP-91), PRD-SPL-04 (KIP-126).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clients.reference.telemetry.trace import (
    BatchClosed,
    BatchSent,
    BatchSplit,
    ProducerIdAssigned,
    SequencesRestarted,
    StateChanged,
)
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.plugins.check import Check, Unsupported
from suites.analysis.attempts import REMEMBERED
from suites.analysis.promises import EXACTLY_ONCE
from suites.checks.trace.situations import judged
from suites.checks.trace.trace_model import (
    FINAL,
    MUST,
    SHOULD,
    Monitor,
    accusation,
    breach_anomaly,
    events_of,
    flag,
)

#: Numbers go round there.
ROUND = 2**31
LAST_EPOCH = 2**15 - 1

Identity = tuple[int, int]
"""Producer id and epoch."""


@dataclass(slots=True, eq=False)
class _Link:
    """A batch under its numbers; ``out`` while an attempt has no end."""

    name: str
    identity: Identity
    base: int
    count: int
    out: bool = True

    @property
    def end(self) -> int:
        return (self.base + self.count) % ROUND


@dataclass(slots=True)
class _Chain:
    """One partition: the batches under numbers that have no end, and the next number.

    ``has_gap``: one of them ended badly, and what the broker has of it is not known.
    """

    identity: Identity | None = None
    links: list[_Link] = field(default_factory=list)
    next: int = 0
    acked_end: int = 0
    has_gap: bool = False
    state: str = "CLEAN"


class Sequences(Monitor):
    """Every partition's chain, and the identity that the client has."""

    def __init__(self) -> None:
        super().__init__()
        self._chains: dict[str, _Chain] = {}
        self._links: dict[str, _Link] = {}
        self._identity: Identity | None = None
        self._parts: dict[str, int] = {}
        self.handlers = {
            ProducerIdAssigned: self._assigned,
            BatchClosed: self._filled,
            BatchSent: self._sent,
            BatchSplit: self._split,
            SequencesRestarted: self._restarted,
            StateChanged: self._moved,
        }

    def _chain(self, partition: str) -> _Chain:
        chain = self._chains.get(partition)
        if chain is None:
            chain = self._chains[partition] = _Chain()
        return chain

    # who the client is

    def _assigned(self, event: ProducerIdAssigned) -> None:
        """A local bump is one epoch more of the same producer id, which has 32767 of them (PRD-IDM-09)."""
        had, has = self._identity, (event.producer_id, event.producer_epoch)
        self._identity = has
        if event.bumped_locally and (had is None or has != (had[0], had[1] + 1) or has[1] > LAST_EPOCH):
            self.accuse(
                "PRD-IDM-09", event, "the producer", f"raised its epoch by itself from {had} to {has}"
            )
        elif not event.bumped_locally and had is not None and has <= had and has[0] == had[0]:
            self.accuse("PRD-IDM-10", event, "the producer", f"went back from {had} to {has}")

    def _restarted(self, event: SequencesRestarted) -> None:
        """What has no end begins again at 0, in order, once nothing of it is out (PRD-IDM-10)."""
        chain = self._chain(event.partition)
        if out := [link.name for link in chain.links if link.out]:
            self.accuse("PRD-IDM-10", event, event.partition, f"began again while {out[0]} was out")
        if self._identity is None or self._identity[1] != event.producer_epoch:
            what = f"began again under epoch {event.producer_epoch}, where the producer has {self._identity}"
            self.accuse("PRD-IDM-10", event, event.partition, what)
        chain.identity = self._identity
        chain.next = chain.acked_end = 0
        chain.has_gap = False
        for link in chain.links:
            link.identity, link.base = self._identity or link.identity, chain.next
            chain.next = link.end

    # batches

    def _sent(self, event: BatchSent) -> None:
        name = event.batch
        chain = self._chain(name.rpartition("#")[0])
        identity = event.producer_id, event.producer_epoch
        if identity[0] < 0 or identity[1] < 0 or event.base_sequence < 0 or self._identity is None:
            self.accuse("PRD-IDM-01", event, name, f"was sent as {identity} from {event.base_sequence}")
            return
        link = self._links.get(name)
        if link is None:
            link = self._begin(event, chain, identity)
        else:
            self._repeat(event, chain, link, identity)
        link.out = True
        if len(chain.links) > REMEMBERED and (out := sum(link.out for link in chain.links)) > REMEMBERED:
            self.accuse("PRD-IDM-04", event, name, f"is number {out} that is out at a time")

    def _begin(self, event: BatchSent, chain: _Chain, identity: Identity) -> _Link:
        """The first attempt: the next numbers, and nothing before it that goes again or has no known end."""
        name = event.batch
        if chain.identity is None:
            chain.identity = identity
        if identity != chain.identity:
            what = f"was sent as {identity} in a chain of {chain.identity}"
            self.accuse("PRD-IDM-10", event, name, what)
        elif event.base_sequence != chain.next:
            what = f"was sent from {event.base_sequence} where {chain.next} was next"
            self.accuse("PRD-IDM-13" if event.base_sequence < chain.next else "PRD-IDM-02", event, name, what)
        if waiting := next((link for link in chain.links if not link.out), None):
            self.accuse("PRD-IDM-07", event, name, f"was sent before {waiting.name}, which goes again")
        elif chain.state == "RETRYING" and chain.links:
            self.accuse("PRD-IDM-07", event, name, f"was sent beside {chain.links[0].name}, which goes again")
        if chain.has_gap:
            if chain.links or chain.acked_end != chain.next:
                self.accuse("PRD-EXP-06", event, name, "was sent behind a batch whose fate is not known")
            chain.has_gap = False
        link = self._links[name] = _Link(name, identity, event.base_sequence, event.record_count)
        chain.links.append(link)
        chain.next = link.end
        return link

    def _repeat(self, event: BatchSent, chain: _Chain, link: _Link, identity: Identity) -> None:
        """A later attempt: the same numbers, and only the lowest of those without an end goes."""
        if (identity, event.base_sequence) != (link.identity, link.base):
            what = (
                f"was sent as {identity} from {event.base_sequence}, and is {link.identity} from {link.base}"
            )
            self.accuse("PRD-IDM-03", event, link.name, what)
        elif event.record_count != link.count:
            what = f"was sent with {event.record_count} records, and has {link.count}"
            self.accuse("PRD-IDM-03", event, link.name, what)
        if chain.state != "BUMPED" and chain.links and chain.links[0] is not link:
            self.accuse("PRD-IDM-07", event, link.name, f"was sent again before {chain.links[0].name}")

    def _filled(self, event: BatchClosed) -> None:
        if event.reason == "part":
            self._parts[event.batch] = event.record_count

    def _split(self, event: BatchSplit) -> None:
        """The parts have the numbers of the whole, one after the other (PRD-SPL-04)."""
        whole = self._links.get(event.batch)
        if whole is None:
            return
        chain = self._chain(event.batch.rpartition("#")[0])
        base, parts = whole.base, []
        for place in range(event.parts):
            name = f"{event.batch}.{place + 1}"
            part = _Link(name, whole.identity, base, self._parts.pop(name, 0), out=False)
            self._links[name] = part
            parts.append(part)
            base = part.end
        if whole in chain.links:
            at = chain.links.index(whole)
            chain.links[at : at + 1] = parts

    def _moved(self, event: StateChanged) -> None:
        if event.machine == "sequence":
            self._chain(event.subject).state = event.after
            return
        if event.machine != "batch" or (link := self._links.get(event.subject)) is None:
            return
        if event.cause == "reenqueue":
            link.out = False
        elif event.after in FINAL:
            self._ended(event, self._chain(event.subject.rpartition("#")[0]), link)

    @staticmethod
    def _ended(event: StateChanged, chain: _Chain, link: _Link) -> None:
        """Stored, even where that is learned late, or not: then the chain has a gap, maybe."""
        link.out = False
        was_in_chain = link in chain.links
        if was_in_chain:
            chain.links.remove(link)
        if link.identity != chain.identity:
            return
        if event.cause == "succeed":
            ahead = (link.end - chain.acked_end) % ROUND
            chain.acked_end = link.end if ahead < ROUND // 2 else chain.acked_end
        elif was_in_chain:
            chain.has_gap = True


ANOMALY = breach_anomaly("sequence")
NOT_IDEMPOTENT = ReasonKind("not-idempotent", "enable.idempotence=false numbers nothing")


def find(evidence: Evidence) -> list[Finding]:
    """A finding a requirement, with one count a batch or bump that breaks a chain. Unsupported without idempotence."""
    if not flag(evidence, "enable.idempotence", default=True):
        raise Unsupported(NOT_IDEMPOTENT.reason())
    return accusation(ANOMALY, Sequences().watch(events_of(evidence)))


CHECK = Check(
    name="sequence",
    summary="Batches under sequence numbers that are not the next ones, not their own, or not to be used now.",
    requirements=(
        judged("PRD-EXP-06", MUST, EXACTLY_ONCE),
        judged("PRD-EXP-07", MUST, EXACTLY_ONCE),
        judged("PRD-IDM-01", MUST, EXACTLY_ONCE),
        judged("PRD-IDM-02", MUST, EXACTLY_ONCE),
        judged("PRD-IDM-03", MUST, EXACTLY_ONCE),
        judged("PRD-IDM-04", MUST, EXACTLY_ONCE),
        judged("PRD-IDM-07", MUST, EXACTLY_ONCE),
        judged("PRD-IDM-09", SHOULD, EXACTLY_ONCE),
        judged("PRD-IDM-10", MUST, EXACTLY_ONCE),
        judged("PRD-IDM-13", MUST, EXACTLY_ONCE),
        judged("PRD-SPL-04", MUST, EXACTLY_ONCE),
    ),
    guarantees=EXACTLY_ONCE,
    channels=frozenset({"trace"}),
    mutant="retries_with_new_sequence",
    find=find,
)
