"""The limits of the excuses for haste: retries, storms and throttling just beyond what a client may do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.checks.wire import metadata_storm, retry_spacing
from suites.checks.wire.throttle_ignored import SINCE
from suites.perturbations.edits import inserted_id, with_frames, with_frames_added
from suites.perturbations.exchanges import PRODUCE, Spot, asked, request_of, settled
from suites.perturbations.limits.scene import ELSEWHERE, During, Stage, metadata, openings, refusal, spots
from suites.perturbations.perturbation import channels

BACKOFF = "retry.backoff.ms"
NOT_LEADER, TOO_MANY_BYTES, NOT_ENOUGH_REPLICAS = 6, 18, 19
SOON, STORM = ("retry-too-soon",), ("retry-storm",)
METADATA_STORM, IGNORED = ("metadata-storm",), ("throttle-ignored",)
#: The factor by which a limit is exceeded.
BEYOND = 1.3
SECOND_MS = 1_000
#: A client has read an answer within a second, and starts again at most 20 ms early.
READ_MS, LEFT_MS = 1_300, 100
#: Reasons for a Metadata request count for two seconds.
FORGOTTEN_MS = 2_200
REASONS = 40


def _backoff_ms(evidence: Evidence) -> int:
    """Return the backoff that the client applies, or 0 for none."""
    record = evidence.record
    return 0 if BACKOFF in record.not_set else int(record.spec.config.get(BACKOFF, 0))


def _backing_off(evidence: Evidence) -> list[Spot]:
    return spots(evidence) if _backoff_ms(evidence) >= 20 else []


def _refused_once(code: int, share: float, by_another: bool = False) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation in which a batch is refused and sent again after this share of the backoff.

    With ``by_another``, the first attempt uses another connection.
    """

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        stage = Stage(evidence, spot)
        again_ms = 2 + int(_backoff_ms(evidence) * share)
        sent = asked(evidence, stage.batch.exchange)
        conn = stage.conn if by_another else None
        frames = [*stage.exchange(sent, refusal(sent, code), 0, 1, conn)]
        if by_another:
            frames += stage.connection(-1, again_ms + 100, stage.conn)
        return with_frames_added(stage.pause(again_ms), frames)

    return apply


def _limit(evidence: Evidence) -> int:
    """Return how many attempts of a batch are not a storm for any client."""
    backoff_ms = _backoff_ms(evidence)
    least_ms = int(backoff_ms * retry_spacing.LEAST_OF_BACKOFF)
    allowed = 2 * SECOND_MS // max(1, least_ms) if backoff_ms else 0
    return max(retry_spacing.MANY_A_SECOND, allowed)


def _few_needed(evidence: Evidence) -> list[Spot]:
    return spots(evidence) if _limit(evidence) < 500 else []


def _attempts(evidence: Evidence) -> Iterator[int]:
    """Yield times of attempts, in milliseconds, that just make a storm and take less than a second."""
    count = int(_limit(evidence) * BEYOND)
    return (n * (SECOND_MS - 100) // count for n in range(count))


def _burst(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch is refused slightly more often in a second than twice what its backoff allows."""
    stage = Stage(evidence, spot)
    sent = asked(evidence, stage.batch.exchange)
    told = refusal(sent, NOT_ENOUGH_REPLICAS)
    rows = (stage.exchange(sent, told, at_ms, at_ms + 0.5) for at_ms in _attempts(evidence))
    return with_frames_added(stage.pause(SECOND_MS), [row for each in rows for row in each])


def _reconnecting(evidence: Evidence, spot: Spot) -> Evidence:
    """It is sent as often on separate connections, which end without an answer."""
    stage = Stage(evidence, spot)
    sent = asked(evidence, stage.batch.exchange)
    rows: list[Frame] = []
    for n, at_ms in enumerate(_attempts(evidence)):
        conn = stage.conn + n
        asks, _ = stage.exchange(sent, sent, at_ms, at_ms, conn)
        rows += [asks, *stage.connection(at_ms, at_ms + 0.5, conn)]
    return with_frames_added(stage.pause(SECOND_MS), rows)


def _with_metadata(evidence: Evidence) -> list[Spot]:
    return spots(evidence) if metadata(evidence) and metadata_storm.usual(evidence) < 2_000 else []


def _asking(evidence: Evidence, spot: Spot) -> Evidence:
    """Connections are opened and closed, and two seconds later there are a few more Metadata requests than usual."""
    stage, found = Stage(evidence, spot), metadata(evidence)
    assert found is not None
    request = request_of(evidence, stage.batch)
    reasons = metadata_storm.FOR_EACH_REASON * _near(evidence, stage)
    count = int(metadata_storm.usual(evidence) * BEYOND) + reasons
    rows = [row for n in range(REASONS) for row in stage.connection(n, n + 10, stage.conn + n)]
    first_ms, ids = REASONS + FORGOTTEN_MS, inserted_id(evidence) + 10_000
    own = {
        "conn": request.conn,
        "broker": request.broker,
        "received_ns": None,
        "fault": None,
        "disposition": None,
    }
    for n in range(count):
        at_ms = first_ms + n * (SECOND_MS - 100) / count
        rows += [
            changed(row, t_ns=stage.ns(at_ms + later), correlation_id=ids + n, **own)
            for row, later in zip(found, (0, 0.1), strict=True)
        ]
    return with_frames_added(stage.pause(first_ms + SECOND_MS), rows)


def _near(evidence: Evidence, stage: Stage) -> int:
    """Return how many reasons exist already and may count, in the two seconds before the pause."""
    begin_ns = openings(evidence)[stage.batch.spot] - FORGOTTEN_MS * NS_PER_MS
    rows = (row for row in evidence.frames if row.t_ns >= begin_ns)
    return sum(row.kind is FrameKind.OPEN or bool(row.error_codes) for row in rows)


def _throttled(evidence: Evidence, spot: Spot) -> tuple[Stage, Evidence]:
    """A batch is refused with a throttle time, and sent again 100 ms before that time has passed."""
    stage = Stage(evidence, spot)
    sent = asked(evidence, stage.batch.exchange)
    asks, tells = stage.exchange(sent, refusal(sent, NOT_LEADER), 0, 1)
    version = max(SINCE[PRODUCE], asks.api_version or 0)
    rows = [
        changed(asks, api_version=version),
        changed(tells, api_version=version, throttle_ms=READ_MS + LEFT_MS - 1),
    ]
    return stage, with_frames_added(stage.pause(READ_MS), rows)


def _nearly_over(evidence: Evidence, spot: Spot) -> Evidence:
    return _throttled(evidence, spot)[1]


def _oldest_version(evidence: Evidence, spot: Spot) -> Evidence:
    """The same, with the first version in which a broker asks for it."""
    _, throttled = _throttled(evidence, spot)
    return with_frames(
        throttled,
        [
            changed(row, api_version=SINCE[PRODUCE]) if row.api == PRODUCE and row.throttle_ms else row
            for row in throttled.frames
        ],
    )


def _lost_elsewhere(evidence: Evidence, spot: Spot) -> Evidence:
    """Answers of another broker are lost when the answer passes."""
    stage, throttled = _throttled(evidence, spot)
    return stage.faulted(throttled, [During("dropped_response", -50, READ_MS + 50, brokers=(ELSEWHERE,))])


def _out_of_turn_later(evidence: Evidence, spot: Spot) -> Evidence:
    """After the request that was too early, two answers are swapped on its connection."""
    stage, throttled = _throttled(evidence, spot)
    found = metadata(evidence)
    assert found is not None
    request = request_of(evidence, stage.batch)
    at_ms, ids = READ_MS + LEFT_MS // 2, inserted_id(evidence) + 10_000
    own = {
        "conn": request.conn,
        "broker": request.broker,
        "received_ns": None,
        "fault": None,
        "disposition": None,
    }
    rows = [
        changed(row, correlation_id=ids + n, t_ns=stage.ns(at_ms + later), **own)
        for row, n, later in ((found[0], 0, 0), (found[0], 1, 0.1), (found[1], 1, 0.3), (found[1], 0, 0.4))
    ]
    return with_frames_added(throttled, rows)


def _telling_metadata(evidence: Evidence) -> list[Spot]:
    return _quick(evidence) if metadata(evidence) else []


def _quick(evidence: Evidence) -> list[Spot]:
    """Return batches that were answered at once, so that nothing else is in transit when more is sent after them."""
    batches = settled(evidence)
    found = []
    for spot in spots(evidence):
        exchange = batches[spot].exchange
        request, answer = (evidence.frames[at or 0] for at in (exchange.request, exchange.answer))
        if answer.t_ns - request.t_ns < LEFT_MS // 4 * NS_PER_MS:
            found.append(spot)
    return found


def _kind(
    name: str,
    defect: str,
    places: Callable[[Evidence], list[Spot]],
    apply: Callable[[Evidence, Spot], Evidence],
    caught_by: tuple[str, ...],
    also: tuple[str, ...] = (),
) -> Perturbation:
    changes = channels("frames", "history", "log", *also)
    return Perturbation(name, changes, defect, caught_by, places, apply, Verdict.DIFFERS)


PERTURBATIONS = (
    _kind(
        "again-before-its-backoff",
        "sends a refused batch again after six tenths of its backoff",
        _backing_off,
        _refused_once(NOT_ENOUGH_REPLICAS, 0.6),
        SOON,
    ),
    _kind(
        "again-at-once-though-leader-stays",
        "sends a batch again at once after an error that does not indicate a new leader",
        _backing_off,
        _refused_once(NOT_ENOUGH_REPLICAS, 0),
        SOON,
    ),
    _kind(
        "again-at-once-by-another-connection",
        "sends a refused batch again at once, to the same broker on another connection",
        _backing_off,
        _refused_once(NOT_ENOUGH_REPLICAS, 0, by_another=True),
        SOON,
    ),
    _kind(
        "again-at-once-as-if-too-large",
        "sends a batch again at once that was refused for a reason other than MESSAGE_TOO_LARGE",
        _backing_off,
        _refused_once(TOO_MANY_BYTES, 0),
        SOON,
    ),
    _kind(
        "again-too-often-in-a-second",
        "sends a refused batch a third more often in a second than any client needs to",
        _few_needed,
        _burst,
        STORM,
    ),
    _kind(
        "again-too-often-after-lost-connections",
        "sends a batch equally often on connections that end at once",
        _few_needed,
        _reconnecting,
        STORM,
    ),
    _kind(
        "metadata-storm-long-after-reasons",
        "asks for Metadata a third more often than usual, two seconds after its reasons",
        _with_metadata,
        _asking,
        METADATA_STORM,
    ),
    _kind(
        "throttle-ended-too-early",
        "sends a request 100 ms before the end of a throttle time",
        spots,
        _nearly_over,
        IGNORED,
    ),
    _kind(
        "throttle-ignored-in-oldest-version",
        "sends a request 100 ms before the end of a throttle time, in the first version that "
        "throttles at the client",
        spots,
        _oldest_version,
        IGNORED,
    ),
    _kind(
        "throttle-ignored-as-others-lose-answers",
        "sends a request 100 ms before the end of a throttle time, while a fault loses the "
        "answers of another broker",
        spots,
        _lost_elsewhere,
        IGNORED,
        ("faults",),
    ),
    _kind(
        "throttle-ignored-before-answers-out-of-turn",
        "sends a request 100 ms before the end of a throttle time, before answers are out of "
        "order on the connection",
        _telling_metadata,
        _out_of_turn_later,
        IGNORED,
    ),
)
