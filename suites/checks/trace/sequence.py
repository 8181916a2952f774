"""# sequence

## What it does

Follows each partition's chain of sequence numbers in the client's trace: which numbers every batch was sent
with, at each attempt, and which batches were in flight, refused or unknown at that time.

## Why it is bad

A broker recognizes a repeated batch by its numbers alone. A batch that is sent again with other numbers is
stored twice. Other records with numbers that were used are dropped as duplicates, and reported as safe.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden.
- **at-least-once, at-most-once**: not judged; such batches have no numbers.

## What it needs

The client's own trace; clients without one are not judged.

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
from harness.text.counting import some
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

#: Sequence numbers wrap around here.
ROUND = 2**31
LAST_EPOCH = 2**15 - 1

Identity = tuple[int, int]
"""Producer id and epoch."""


@dataclass(slots=True, eq=False)
class _Link:
    """A batch with its numbers. ``out`` is True while an attempt has no end."""

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
    """One partition: the numbered batches without an end, and the next number.

    ``has_gap`` is True if a batch failed and it is unknown whether the broker stored it.
    """

    identity: Identity | None = None
    links: list[_Link] = field(default_factory=list)
    next: int = 0
    acked_end: int = 0
    has_gap: bool = False
    state: str = "CLEAN"


class Sequences(Monitor):
    """The chain of every partition, and the client's identity."""

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

    # the client's identity

    def _assigned(self, event: ProducerIdAssigned) -> None:
        """Check that a local bump raises the epoch of the same producer id by one, up to 32767 (PRD-IDM-09)."""
        had, has = self._identity, (event.producer_id, event.producer_epoch)
        self._identity = has
        if event.bumped_locally and (had is None or has != (had[0], had[1] + 1) or has[1] > LAST_EPOCH):
            self.accuse(
                "PRD-IDM-09", event, "the producer", f"raised its epoch by itself from {had} to {has}"
            )
        elif not event.bumped_locally and had is not None and has <= had and has[0] == had[0]:
            self.accuse("PRD-IDM-10", event, "the producer", f"went back from {had} to {has}")

    def _restarted(self, event: SequencesRestarted) -> None:
        """Check that batches without an end begin again at 0, in order, once none of them is in flight (PRD-IDM-10)."""
        chain = self._chain(event.partition)
        if out := [link.name for link in chain.links if link.out]:
            self.accuse("PRD-IDM-10", event, event.partition, f"began again while {out[0]} was out")
        if self._identity is None or self._identity[1] != event.producer_epoch:
            what = (
                f"began again under epoch {event.producer_epoch}, although the producer has {self._identity}"
            )
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
            self.accuse("PRD-IDM-04", event, name, f"is one of {out} batches in flight at a time")

    def _begin(self, event: BatchSent, chain: _Chain, identity: Identity) -> _Link:
        """Check a first attempt: it has the next numbers, and no earlier batch is to be retried or unresolved."""
        name = event.batch
        if chain.identity is None:
            chain.identity = identity
        if identity != chain.identity:
            what = f"was sent as {identity}, but its chain is {chain.identity}"
            self.accuse("PRD-IDM-10", event, name, what)
        elif event.base_sequence != chain.next:
            what = f"was sent from {event.base_sequence}, expected {chain.next}"
            self.accuse("PRD-IDM-13" if event.base_sequence < chain.next else "PRD-IDM-02", event, name, what)
        if waiting := next((link for link in chain.links if not link.out), None):
            self.accuse("PRD-IDM-07", event, name, f"was sent before {waiting.name}, which is being retried")
        elif chain.state == "RETRYING" and chain.links:
            self.accuse(
                "PRD-IDM-07",
                event,
                name,
                f"was sent together with {chain.links[0].name}, which is being retried",
            )
        if chain.has_gap:
            if chain.links or chain.acked_end != chain.next:
                self.accuse("PRD-EXP-06", event, name, "was sent after a batch whose outcome is unknown")
            chain.has_gap = False
        link = self._links[name] = _Link(name, identity, event.base_sequence, event.record_count)
        chain.links.append(link)
        chain.next = link.end
        return link

    def _repeat(self, event: BatchSent, chain: _Chain, link: _Link, identity: Identity) -> None:
        """Check a later attempt: it has the same numbers, and is the lowest batch without an end."""
        if (identity, event.base_sequence) != (link.identity, link.base):
            what = f"was sent as {identity} from {event.base_sequence}, expected {link.identity} from {link.base}"
            self.accuse("PRD-IDM-03", event, link.name, what)
        elif event.record_count != link.count:
            what = f"was sent with {some(event.record_count, 'record')}, expected {link.count}"
            self.accuse("PRD-IDM-03", event, link.name, what)
        if chain.state != "BUMPED" and chain.links and chain.links[0] is not link:
            self.accuse("PRD-IDM-07", event, link.name, f"was sent again before {chain.links[0].name}")

    def _filled(self, event: BatchClosed) -> None:
        if event.reason == "part":
            self._parts[event.batch] = event.record_count

    def _split(self, event: BatchSplit) -> None:
        """The parts have the numbers of the whole batch, one after the other (PRD-SPL-04)."""
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
        """Record whether the batch was stored, even if that is learned late.

        If it was not, the chain may have a gap.
        """
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
NOT_IDEMPOTENT = ReasonKind(
    "not-idempotent", "with enable.idempotence=false batches have no sequence numbers"
)


def run(evidence: Evidence) -> list[Finding]:
    """Return one finding per requirement, which counts batches and bumps that break a chain.

    Unsupported without idempotence.
    """
    if not flag(evidence, "enable.idempotence", default=True):
        raise Unsupported(NOT_IDEMPOTENT.reason())
    return accusation(ANOMALY, Sequences().watch(events_of(evidence)))


CHECK = Check(
    name="sequence",
    summary=(
        "Batches whose sequence numbers are not the next ones, belong to another batch, or must not "
        "be used yet."
    ),
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
    requires=frozenset({"trace"}),
    killed_mutant="retries_with_new_sequence",
    run=run,
)
