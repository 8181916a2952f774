"""Which duplicates Spark explains, compared with a literal implementation of the rule and with an online set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from harness.model.anomaly_row import UNEXPLAINED, AnomalyRow
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind, ProducePart
from harness.model.spec import AtTime, FaultSpec
from harness.storage.parquet_writer import pack
from harness.storage.run_store import RunStore
from reports.doubts import contested
from reports.spark.analysis import analyse
from reports.spark.load import buckets
from reports.spark.transforms import attempts, explained
from reports.spark.transforms.stored import stored

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

MS = 1_000_000
LOAD_NS = 50_000_000_000
TIMEOUT_MS = 2_000
TRIALS = 60


@dataclass(frozen=True)
class Try:
    """One request for one record, with times in ms since load. ``stored`` is its offset in partition 0."""

    n: int
    conn: int
    asked_ms: int
    answered_ms: int | None
    error_code: int
    stored: int | None
    crc: int

    @property
    def broker(self) -> int:
        return 1 + self.conn % 2


class Retried:
    """A trial of several records with up to three attempts each, in a story's frames, faults and log."""

    def __init__(self, story: Any) -> None:
        self.story = story
        self.tries: list[Try] = []
        self.closed_ms: dict[int, int] = {}

    def attempt(
        self, n: int, conn: int, asked_ms: int, answered_ms: int | None, *, error: int = 0, kept: bool = True,
        crc: int | None = None,
    ) -> None:  # fmt: skip
        number = len(self.tries)
        crc = 1_000 + number if crc is None else crc
        offset = self.story.store(n, 0, batch_crc=crc, producer_id=-1).offset if kept else None
        self.tries.append(Try(n, conn, asked_ms, answered_ms, error, offset, crc))
        sent = ProducePart(self.story.topic, 0, -1, -1, -1, 1, crc)
        self._frame(FrameKind.REQUEST, conn, asked_ms, number, sent)
        if answered_ms is not None:
            answer = ProducePart(self.story.topic, 0, base_offset=-1 if error else offset, error_code=error)
            self._frame(FrameKind.RESPONSE, conn, answered_ms, number, answer)

    def close(self, conn: int, at_ms: int) -> None:
        self.closed_ms[conn] = at_ms
        self._frame(FrameKind.CLOSE, conn, at_ms)

    def fault(self, kind: str, begin_ms: int, end_ms: int, **params: int) -> None:
        window = (LOAD_NS + begin_ms * MS, LOAD_NS + end_ms * MS)
        spec = FaultSpec(kind, AtTime(begin_ms), end_ms - begin_ms, params=params)
        self.story.faults.append(FaultRow(len(self.story.faults), spec, window, window, 1))

    def _frame(self, kind: FrameKind, conn: int, at_ms: int, number: int = 0, *parts: ProducePart) -> None:
        values = {"api": "Produce", "api_key": 0, "correlation_id": number, "produce": parts} if parts else {}
        broker, t_ns = 1 + conn % 2, LOAD_NS + at_ms * MS
        self.story.frames.append(Frame(t_ns, lane=0, broker=broker, conn=conn, kind=kind, **values))

    def written(self) -> Any:
        """Return the story, with its frames in order of time."""
        for n in sorted({each.n for each in self.tries}):
            self.story.send(n, LOAD_NS)
        self.story.frames.sort(key=lambda frame: frame.t_ns)
        records = len({each.n for each in self.tries})
        kept = len({each.n for each in self.tries if each.stored is not None})
        in_log = len(self.story.log)
        self.story.counts |= {
            "sent": records,
            "unknown": records,
            "in_log": in_log,
            "duplicated": in_log - kept,
        }
        return self.story


def drawn(trial: str, story: Callable[..., Any], dice: Random) -> Retried:
    """Draw any events for each of the attempts."""
    retried = Retried(bounded(trial, story))
    for n in range(dice.choice([1, 3, 6])):
        at_ms = dice.randrange(0, 3_000)
        for _ in range(dice.choice([1, 2, 2, 3])):
            disposition = dice.choice(["quick", "quick", "slow", "silent", "error"])
            took_ms = {"quick": dice.randrange(1, 40), "slow": dice.randrange(1_200, 3_500)}.get(
                disposition, 5
            )
            kept = disposition in ("quick", "slow") or (disposition == "silent" and dice.random() < 0.7)
            answered_ms = None if disposition == "silent" else at_ms + took_ms
            error = 7 if disposition == "error" else 0
            retried.attempt(n, dice.randrange(1, 6), at_ms, answered_ms, error=error, kept=kept)
            at_ms += dice.randrange(1, 4_000)
    for conn in range(1, 6):
        if dice.random() < 0.5:
            retried.close(conn, dice.randrange(0, 9_000))
    for _ in range(dice.choice([0, 0, 1, 2])):
        begin_ms = dice.randrange(0, 8_000)
        kind, params = dice.choice([
            ("dropped_response", {}), ("disconnect", {}), ("latency", {"upstream_ms": 900, "downstream_ms": 400}),
        ])  # fmt: skip
        retried.fault(kind, begin_ms, begin_ms + dice.randrange(1, 1_500), **params)
    return retried


def bounded(trial: str, story: Callable[..., Any]) -> Any:
    told = story(trial, records=12)
    told.spec.config["request.timeout.ms"] = TIMEOUT_MS
    return told


def needless_by_hand(retried: Retried) -> dict[int, bool]:
    """Return, by the literal rule, whether each duplicated record was sent again without a reason."""
    found = {}
    for n in {each.n for each in retried.tries}:
        stored = [each for each in retried.tries if each.n == n and each.stored is not None]
        stored.sort(key=lambda each: each.asked_ms)
        if len(stored) > 1:
            found[n] = any(
                not failed(retried, earlier) and not (failed(retried, later) and may_be_older(later, earlier))
                for place, later in enumerate(stored)
                for earlier in stored[:place]
            )
    return found


def may_be_older(later: Try, earlier: Try) -> bool:
    return later.broker == earlier.broker and later.conn < earlier.conn


def failed(retried: Retried, each: Try) -> bool:
    answered, closed, slack = each.answered_ms, retried.closed_ms.get(each.conn), 500
    if answered is None or each.error_code:
        return True
    if closed is not None and closed <= answered:
        return True
    limit_ms = TIMEOUT_MS - slack
    for row in retried.story.faults:
        begin, end = ((t_ns - LOAD_NS) // MS for t_ns in row.effective_ns)
        begin, end = begin - slack, end + slack
        if row.spec.kind == "dropped_response" and begin <= answered <= end:
            return True
        if closed is not None and begin <= closed <= end and closed - answered <= slack:
            return True
        if row.spec.kind == "latency" and begin <= answered and each.asked_ms <= end:
            limit_ms -= max(row.spec.params.values())
    return answered - each.asked_ms > limit_ms


def recomputed(store: RunStore) -> dict[str, dict[int, str | None]]:
    """Return Spark's reason why a duplicated record is not explained, by trial and record."""
    (bucket,) = buckets(pack(store).folder.as_uri())
    (tables,) = bucket.groups()
    log = stored(tables["trials"], tables["operations"], tables["log_records"])
    made = attempts.attempts(*(tables[name] for name in ("trials", "frames", "produce_parts", "faults")))
    found: dict[str, dict[int, str | None]] = {}
    for row in explained.duplicates(tables["trials"], log, attempts.origins(made, log)).to_dicts():
        found.setdefault(row["trial"], {})[row["n"]] = row["unexplained"]
        assert (row["why"] is None) == (row["unexplained"] is not None)
    return found


def test_drawn_retries_are_explained_as_by_hand(
    story: Callable[..., Any], run_of: Callable[..., RunStore]
) -> None:
    dice = Random(31)
    trials = {f"t{number}": drawn(f"t{number}", story, dice) for number in range(TRIALS)}
    by_hand = {trial: needless_by_hand(retried) for trial, retried in trials.items()}
    found = recomputed(run_of(*(retried.written() for retried in trials.values())))
    told = {trial: {n: why is not None for n, why in rows.items()} for trial, rows in found.items()}
    assert told == {trial: rows for trial, rows in by_hand.items() if rows}
    assert {needless for rows in by_hand.values() for needless in rows.values()} == {True, False}


def test_each_reason_is_reported(story: Callable[..., Any], run_of: Callable[..., RunStore]) -> None:
    needless = Retried(bounded("needless", story))
    needless.attempt(0, 1, 0, 5)
    needless.attempt(0, 1, 100, 105)
    unseen = Retried(bounded("unseen", story))
    unseen.attempt(0, 1, 0, None)
    unseen.story.store(0, 0, batch_crc=77, producer_id=-1)
    twice = Retried(bounded("twice", story))
    twice.attempt(0, 1, 0, 5)
    twice.story.store(0, 0, base_offset=0, batch_crc=1_000, producer_id=-1)
    same = Retried(bounded("same bytes", story))
    same.attempt(0, 1, 0, None, crc=5)
    same.attempt(0, 3, 100, None, crc=5)
    same.attempt(0, 5, 200, 210, crc=5)
    found = recomputed(run_of(*(each.written() for each in (needless, unseen, twice, same))))
    assert {trial: rows[0] for trial, rows in found.items()} == {
        "needless": "it was sent again although nothing was wrong with the request in frame 0",
        "unseen": explained.UNSEEN,
        "twice": explained.TWICE,
        "same bytes": None,
    }


def test_only_a_stored_online_set_is_compared(
    spark: Any, story: Callable[..., Any], run_of: Callable[..., RunStore]
) -> None:
    def retried(trial: str) -> Any:
        told = Retried(bounded(trial, story))
        told.attempt(0, 1, 0, 5)
        told.attempt(0, 1, 100, 105)
        told.attempt(1, 1, 200, None)
        told.attempt(1, 3, 300, 305)
        return told.written()

    def online(evidence: Evidence) -> list[AnomalyRow] | None:
        accused = {"agrees": 0, "differs": 1}.get(evidence.record.spec.trial)
        return None if accused is None else [AnomalyRow(UNEXPLAINED, accused, 0, 1, "it says so")]

    store = run_of(*(retried(trial) for trial in ("agrees", "differs", "not stored")))
    analysis = analyse(spark, pack(store, {UNEXPLAINED: online}).folder.as_uri())
    rows = {row["trial"]: row for row in analysis.rows("explanations")}
    assert {trial: (row["compared"], row["differing"]) for trial, row in rows.items()} == {
        "agrees": (True, 0),
        "differs": (True, 2),
        "not stored": (False, 0),
    }
    assert all((row["duplicated"], row["unexplained"]) == (2, 1) for row in rows.values())
    needless = "it was sent again although nothing was wrong with the request in frame 0"
    failed = "the request in frame 4: it was never answered"
    assert contested(analysis) == [
        {"trial": "differs", "n": 0, "online": "explained", "spark": needless, "differing": 2},
        {"trial": "differs", "n": 1, "online": "it says so", "spark": failed, "differing": 2},
    ]
    assert {row["verdict"] for row in analysis.rows("trials") if row["trial"] == "differs"} == {"pass"}
