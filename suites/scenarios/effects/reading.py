"""How a fault shows to clients that read, or that have transactions: in answers that they did not get or that said no,
and in what they asked then.

A client's reaction shows in a later request of its own. The APIs that count are those that the faults name; a fault
that names none is about what the workload requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from faults.effects import members
from harness.model.evidence import Evidence, view
from harness.model.exchanges import Exchange, connections
from harness.model.rows import Disposition, Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.plugins.fault import toxic_name
from harness.plugins.registry import workload
from harness.plugins.scenario import Consequence
from harness.wire.apis import api_name
from harness.wire.error_table import BY_NAME
from harness.workloads.consume import accounting
from suites.scenarios.effects.fault_windows import begun, during

FETCH: Final = "Fetch"
TRANSACTIONS: Final = "transactions"
#: What a client asks when it has to find its place again: a coordinator, a group, a leader, an offset.
ANEW: Final = (
    "FindCoordinator",
    "JoinGroup",
    "ConsumerGroupHeartbeat",
    "Metadata",
    "ListOffsets",
    "OffsetForLeaderEpoch",
)
#: What members ask their coordinator as long as they live.
OF_MEMBERS: Final = ("Heartbeat", "OffsetCommit", "ConsumerGroupHeartbeat")
OUT_OF_RANGE: Final = BY_NAME["OFFSET_OUT_OF_RANGE"].code
OF_LEADERS: Final = tuple(
    BY_NAME[name].code for name in ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH")
)
#: Later than this, an answer did not come at once.
LATE_NS: Final = 250 * NS_PER_MS
#: The least time that an answer in pieces takes to pass.
IN_PIECES_NS: Final = 20 * NS_PER_MS


def unanswered(evidence: Evidence) -> Consequence:
    """Requests to which no answer ever passed, and after which their client asked again."""
    count = sum(
        exchange.answer is None
        and during(evidence, exchange.request.t_ns)
        and _asks_later(evidence, exchange.request, (exchange.request.api or "",))
        for exchange in _exchanges(evidence)
    )
    return Consequence(count, "requests had no answer, and their client asked again")


def unasked(evidence: Evidence) -> Consequence:
    """Requests that never passed to the broker, and after which their client asked again."""
    count = sum(
        _asks_later(evidence, frame, (frame.api or "",))
        for frame in evidence.blocked_frames
        if frame.kind is FrameKind.REQUEST and _is_meant(evidence, frame)
    )
    return Consequence(count, "requests never passed, and their client asked again")


def late(evidence: Evidence) -> Consequence:
    """Answers that were kept on their way to the client."""
    count = sum(
        frame.t_ns - frame.arrived_ns >= LATE_NS and _is_meant(evidence, frame)
        for frame in _answers(evidence)
    )
    return Consequence(count, "answers were kept on their way")


def doubled(evidence: Evidence) -> Consequence:
    """Answers that passed twice. Only the witness can tell, since the client need not show it."""
    count = sum(
        frame.disposition is Disposition.ANNOTATED and _is_meant(evidence, frame)
        for frame in _answers(evidence)
    )
    return Consequence(count, "answers passed twice")


def swapped(evidence: Evidence) -> Consequence:
    """Answers that waited for the answer after them. Only the witness can tell."""
    count = sum(
        frame.disposition is Disposition.DELAYED
        and frame.t_ns > frame.arrived_ns
        and _is_meant(evidence, frame)
        for frame in _answers(evidence)
    )
    return Consequence(count, "answers waited for the answer after them")


def strange(evidence: Evidence) -> Consequence:
    """Answers that the witness gave another correlation id, and whose client fetched on another connection later."""
    count = sum(
        frame.disposition is Disposition.CHANGED
        and any(
            later.conn != frame.conn and later.t_ns > frame.t_ns
            for later in _requests(evidence).get((_clients(evidence).get(frame.conn), FETCH), ())
        )
        for frame in _answers(evidence)
    )
    return Consequence(count, "answers had a strange correlation id, and clients used another connection")


def damaged(evidence: Evidence) -> Consequence:
    """Fetch answers with a damaged batch, after which records of its partition were delivered."""
    last_ns: dict[int, int] = {}
    for got in accounting.deliveries(evidence) if _is_judged(evidence) else ():
        last_ns[got.partition] = max(last_ns.get(got.partition, 0), got.polled_ns)
    count = sum(
        any(
            part.damaged is not None and last_ns.get(part.partition, 0) > frame.t_ns for part in frame.offsets
        )
        for frame in _answers(evidence)
    )
    return Consequence(
        count, "answers had a damaged batch, and later records of its partition were delivered"
    )


def read_again(evidence: Evidence) -> Consequence:
    """Records that a member had reported before a fault, and that it took again after it began."""
    count = sum(members.read_again(row, evidence) for row in evidence.faults)
    return Consequence(count, "records were taken again by their member")


def in_pieces(evidence: Evidence) -> Consequence:
    """Answers that took a long time to pass, although the broker had given them at once."""
    count = sum(
        frame.t_ns - frame.arrived_ns >= IN_PIECES_NS and _is_meant(evidence, frame)
        for frame in _answers(evidence)
    )
    return Consequence(count, "answers passed in pieces")


def refused(evidence: Evidence) -> Consequence:
    """Answers with the error that a fault put into them, after which their client asked again, or for its place.

    Scripted brokers need no rule of the witness for it. For them, the code in the answer counts.
    """
    specs = [row.spec for row in evidence.faults if row.spec.kind in ("error_response", "changed_error")]
    rules, codes = {toxic_name(spec) for spec in specs}, {spec.params.get("code") for spec in specs}
    is_scripted = evidence.record.spec.broker.startswith("scripted:")
    count = sum(
        (frame.fault in rules or (is_scripted and not codes.isdisjoint(frame.error_codes)))
        and bool(frame.error_codes)
        and _asks_later(evidence, frame, (frame.api or "", *ANEW))
        for frame in _answers(evidence)
    )
    return Consequence(count, "answers reported an error, and their client asked again")


def refused_for_good(evidence: Evidence) -> Consequence:
    """Answers with the error that a fault put into them, whatever their client did then."""
    codes = {row.spec.params.get("code") for row in evidence.faults if row.spec.kind == "error_response"}
    count = sum(
        _is_meant(evidence, frame) and not codes.isdisjoint(frame.error_codes) for frame in _answers(evidence)
    )
    return Consequence(count, "answers reported an error that ends a membership")


def out_of_range(evidence: Evidence) -> Consequence:
    """Fetch answers that reported an offset out of range, after which their client asked for offsets."""
    count = sum(
        frame.api == FETCH
        and OUT_OF_RANGE in frame.error_codes
        and _asks_later(evidence, frame, ("ListOffsets",))
        for frame in _answers(evidence)
    )
    return Consequence(count, "offsets were out of range, and their client asked for others")


def other_leaders(evidence: Evidence) -> Consequence:
    """Fetch answers that reported another leader or epoch, after which their client fetched from another broker."""
    fetches = [frame for frame in evidence.frames if frame.api == FETCH and frame.kind is FrameKind.REQUEST]
    count = sum(
        frame.api == FETCH
        and any(code in OF_LEADERS for code in frame.error_codes)
        and any(
            later.broker != frame.broker and later.t_ns > frame.t_ns and later.conn != frame.conn
            for later in fetches
        )
        for frame in _answers(evidence)
    )
    return Consequence(count, "partitions had other leaders, and clients fetched from them")


def reconnected(evidence: Evidence) -> Consequence:
    """Connections with Fetch requests that ended during a fault, and whose client fetched on another one later."""
    return _on_another(
        evidence, (FETCH,), "connections with Fetch requests ended, and others took their place"
    )


def hung_up(evidence: Evidence) -> Consequence:
    """Connections to coordinators that ended during a fault, and whose client asked one on another connection later."""
    return _on_another(evidence, OF_MEMBERS, "connections to coordinators ended, and others took their place")


def ended(evidence: Evidence) -> Consequence:
    """Connections with Produce or EndTxn requests that ended during a fault, and whose client asked again elsewhere."""
    return _on_another(
        evidence, ("Produce", "EndTxn"), "connections of transactions ended, and others followed"
    )


def left_unheard(evidence: Evidence) -> Consequence:
    """Requests of members that close to which no answer ever passed. They do not ask again."""
    count = sum(
        exchange.answer is None and during(evidence, exchange.request.t_ns)
        for exchange in _exchanges(evidence)
    )
    return Consequence(count, "requests of members that close had no answer")


def left_unasked(evidence: Evidence) -> Consequence:
    """Requests of members that close which never passed to the broker. They do not ask again."""
    count = sum(
        frame.kind is FrameKind.REQUEST and _is_meant(evidence, frame) for frame in evidence.blocked_frames
    )
    return Consequence(count, "requests of members that close never passed")


def left_refused(evidence: Evidence) -> Consequence:
    """Answers to members that close with the error that a fault put into them. They do not ask again."""
    count = sum(
        frame.fault is not None and bool(frame.error_codes) and _is_meant(evidence, frame)
        for frame in _answers(evidence)
    )
    return Consequence(count, "answers to members that close reported an error")


def sought(evidence: Evidence) -> Consequence:
    """FindCoordinator requests during a fault, of clients that had had an answer to one before."""
    return _repeated(evidence, ("FindCoordinator",), "clients asked for their coordinator again")


def rejoined(evidence: Evidence) -> Consequence:
    """Requests to join during a fault, of clients that had joined before."""
    return _repeated(evidence, ("JoinGroup",), "members joined again")


def passed_gaps(evidence: Evidence) -> Consequence:
    """Offsets without a record, behind which a member was given one."""
    stored = {(row.partition, row.offset) for row in evidence.log}
    ends: dict[int, int] = {}
    for got in accounting.deliveries(evidence) if _is_judged(evidence) else ():
        if begun(evidence, got.polled_ns):
            ends[got.partition] = max(ends.get(got.partition, 0), got.offset)
    starts: dict[int, int] = {}
    for partition, offset in stored:
        starts[partition] = min(starts.get(partition, offset), offset)
    count = sum(
        (partition, offset) not in stored
        for partition, end in ends.items()
        for offset in range(starts.get(partition, end), end)
    )
    return Consequence(count, "offsets without a record lay before records that were delivered")


def truncated(evidence: Evidence) -> Consequence:
    """Records that members were given and that the log does not have any more, where it has others now."""
    stored, lost = accounting.contents(evidence), accounting.written_aside(evidence)
    count = sum(
        each.value in lost.get(place := (each.partition, each.offset), ())
        and place in stored
        and stored[place] != each.value
        and begun(evidence, each.polled_ns)
        for each in (accounting.deliveries(evidence) if _is_judged(evidence) else ())
    )
    return Consequence(count, "records were delivered where the log has others now")


def throttled(evidence: Evidence) -> Consequence:
    """Answers with a throttle time, to the APIs that the fault is about."""
    count = sum(frame.throttle_ms > 0 and _is_meant(evidence, frame) for frame in _answers(evidence))
    return Consequence(count, "answers contained a throttle time")


def _on_another(evidence: Evidence, apis: tuple[str, ...], what: str) -> Consequence:
    count = 0
    for each in connections(evidence).values():
        used = [exchange.request for exchange in each.exchanges if exchange.request.api in apis]
        count += (
            bool(used)
            and during(evidence, each.closed_ns)
            and any(
                later.t_ns > each.closed_ns and later.conn != each.number
                for api in apis
                for later in _requests(evidence).get((used[-1].client_id, api), ())
            )
        )
    return Consequence(count, what)


def _repeated(evidence: Evidence, apis: tuple[str, ...], what: str) -> Consequence:
    """Count the requests of these APIs whose client had asked one, and had its answer, before a fault began."""
    known: set[str | None] = set()
    for each in connections(evidence).values():
        for exchange in each.exchanges:
            answer = exchange.answer
            if exchange.request.api in apis and answer is not None and not begun(evidence, answer.t_ns):
                known.add(exchange.request.client_id)
    count = sum(
        frame.kind is FrameKind.REQUEST
        and frame.api in apis
        and frame.client_id in known
        and during(evidence, frame.t_ns)
        for frame in evidence.frames
    )
    return Consequence(count, what)


@view
def _meant(evidence: Evidence) -> frozenset[str]:
    """Return the APIs that the faults of the trial are about."""
    if not _is_judged(evidence):
        return frozenset()
    found: set[str] = set()
    for row in evidence.faults:
        if row.spec.frames is not None:
            found.add(row.spec.frames.api)
        elif "api" in row.spec.params:
            found.add(api_name(row.spec.params["api"]))
    return frozenset(found or {FETCH})


@view
def _requests(evidence: Evidence) -> dict[tuple[str | None, str | None], list[Frame]]:
    """Return the requests of each client id and API, those that never passed too."""
    found: dict[tuple[str | None, str | None], list[Frame]] = {}
    for frame in (*evidence.frames, *evidence.blocked_frames):
        if frame.kind is FrameKind.REQUEST:
            found.setdefault((frame.client_id, frame.api), []).append(frame)
    return found


@view
def _clients(evidence: Evidence) -> dict[int, str | None]:
    """Return connection -> the client id of its requests."""
    return {frame.conn: frame.client_id for frame in evidence.frames if frame.kind is FrameKind.REQUEST}


def _asks_later(evidence: Evidence, frame: Frame, apis: tuple[str, ...]) -> bool:
    client = frame.client_id or _clients(evidence).get(frame.conn)
    asked = _requests(evidence)
    return any(later.t_ns > frame.t_ns for api in apis for later in asked.get((client, api), ()))


def _is_meant(evidence: Evidence, frame: Frame) -> bool:
    return frame.api in _meant(evidence) and during(evidence, frame.t_ns)


def _exchanges(evidence: Evidence) -> Iterator[Exchange]:
    for each in connections(evidence).values():
        for exchange in each.exchanges:
            if exchange.request.api in _meant(evidence):
                yield exchange


def _answers(evidence: Evidence) -> Iterator[Frame]:
    """Yield the answers during a fault, in a trial whose clients read or have transactions."""
    if not _is_judged(evidence):
        return
    for frame in evidence.frames:
        if frame.kind is FrameKind.RESPONSE and during(evidence, frame.t_ns):
            yield frame


def _is_judged(evidence: Evidence) -> bool:
    kind = evidence.record.spec.workload.kind
    return kind == TRANSACTIONS or workload(kind).api == FETCH
