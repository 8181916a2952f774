"""The consumer's metrics as a fold over trace events."""

from __future__ import annotations

from math import isnan
from typing import Any

import pytest

from clients.reference.telemetry import fetch_events as fetches
from clients.reference.telemetry import trace as event
from clients.reference.telemetry.consumer_metrics import (
    CLIENT,
    COORDINATOR,
    FETCH,
    NODE,
    PARTITION,
    TOPIC,
    ConsumerMetrics,
)
from clients.reference.telemetry.metrics import MetricName, Scope


def of(values: dict[MetricName, float], scope: Scope, subject: str = "") -> dict[str, float]:
    """Return the metrics of one subject by name."""
    tags = (("client-id", "c"), *scope.tags(subject))
    return {
        name.name: value for name, value in values.items() if (name.group, name.tags) == (scope.group, tags)
    }


def shown(
    metrics: ConsumerMetrics, scope: Scope = CLIENT, subject: str = "", now_ms: int = 0
) -> dict[str, float]:
    return of(metrics.read({}, now_ms), scope, subject)


def response(api: str, latency_ms: int, **more: Any) -> event.ResponseReceived:
    plain = {"at_ms": 0, "node": 1, "correlation_id": 1, "size_bytes": 10}
    return event.ResponseReceived(**{**plain, "api": api, "latency_ms": latency_ms, **more})


def moved(machine: str, before: str, cause: str, after: str, at_ms: int) -> event.StateChanged:
    return event.StateChanged(
        at_ms=at_ms, machine=machine, subject="g", before=before, cause=cause, after=after
    )


def answered(**given_: Any) -> fetches.FetchAnswered:
    plain = {"at_ms": 0, "node": 1, "session_id": 1, "partitions": 1, "size_bytes": 9, "usable": True}
    return fetches.FetchAnswered(**{**plain, **given_})


# Single events


def test_only_usable_responses_count_as_fetches():
    metrics = ConsumerMetrics("c", None)
    metrics(response("Fetch", 7, throttle_ms=4))
    metrics(answered())
    metrics(response("Fetch", 90, throttle_ms=0))
    metrics(answered(usable=False, error="FETCH_SESSION_ID_NOT_FOUND"))
    metrics(answered(usable=False, error="DisconnectException"))
    metrics(response("Metadata", 50))
    told = shown(metrics, FETCH)
    assert (told["fetch-latency-avg"], told["fetch-latency-max"], told["fetch-total"]) == (7, 7, 1)
    assert shown(metrics, NODE, "1")["request-latency-max"] == 7
    assert told["fetch-throttle-time-max"] == 4
    assert shown(metrics)["response-total"] == shown(metrics)["network-io-total"] == 3


def test_a_consumed_response_counts_for_the_client_and_its_topics():
    metrics = ConsumerMetrics("c", None)
    metrics(fetches.FetchConsumed(at_ms=0, node=1, records={"t": 3, "u": 1}, size_bytes={"t": 30, "u": 20}))
    metrics(fetches.FetchConsumed(at_ms=0, node=1, records={"t": 0}, size_bytes={"t": 0}))
    client, topic = shown(metrics, FETCH), shown(metrics, TOPIC, "t")
    assert (client["records-consumed-total"], client["bytes-consumed-total"]) == (4, 50)
    assert (client["records-per-request-avg"], client["fetch-size-avg"], client["fetch-size-max"]) == (
        2,
        25,
        50,
    )
    assert (topic["records-consumed-total"], topic["bytes-consumed-total"]) == (3, 30)
    assert (topic["records-per-request-avg"], topic["fetch-size-max"]) == (1.5, 30)


def test_lag_and_lead_of_partitions_and_of_all():
    metrics = ConsumerMetrics("c", None)
    for partition, lag, lead in (("my-t-0", 5, 7), ("my-t-0", 3, 9), ("my-t-1", 8, None)):
        metrics(
            fetches.RecordsReturned(
                at_ms=0, partition=partition, record_count=1, offset=0, next_offset=1, lag=lag, lead=lead
            )
        )
    metrics(fetches.NothingToReturn(at_ms=0, partition="my-t-0", offset=1, lag=1, lead=9))
    metrics.assigned(["my-t-0", "my-t-1"])
    one, client = shown(metrics, PARTITION, "my-t-0"), shown(metrics, FETCH)
    assert one == {
        "records-lag": 1,
        "records-lag-avg": 3,
        "records-lag-max": 5,
        "records-lead": 9,
        "records-lead-avg": pytest.approx(25 / 3),
        "records-lead-min": 7,
        "preferred-read-replica": -1,
    }
    assert (client["records-lag-max"], client["records-lead-min"]) == (8, 7)
    assert isnan(shown(metrics, PARTITION, "my-t-1")["records-lead"])
    [name] = {name.tags for name in metrics.names() if name.name == "records-lag" and "0" in name.tags[2]}
    assert name == (("client-id", "c"), ("topic", "my-t"), ("partition", "0"))


def test_the_metrics_of_a_partition_go_with_it_and_reporters_learn_of_it():
    added: list[MetricName] = []
    removed: list[MetricName] = []
    metrics = ConsumerMetrics("c", None, added=added.append, removed=removed.append)
    before = set(metrics.names())
    metrics.assigned(["t-0", "t-1"])
    metrics(fetches.NothingToReturn(at_ms=0, partition="t-0", offset=1, lag=1, lead=9))
    assert set(metrics.names()) == set(added) | before == set(metrics.read({}, 0)) | before
    assert of(metrics.read({"t-1": 3}, 0), PARTITION, "t-1") == {"preferred-read-replica": 3}
    metrics.assigned(["t-1"])
    assert set(metrics.names()) == (set(added) | before) - set(removed)
    assert {dict(name.tags)["partition"] for name in removed} == {"0"} and len(removed) == 7
    metrics.assigned([])
    assert set(metrics.names()) == before


def test_a_classic_rebalance_lasts_from_the_first_join_to_the_sync():
    metrics = ConsumerMetrics("c", "classic")
    group = COORDINATOR["classic"]
    assert shown(metrics, group)["last-rebalance-seconds-ago"] == -1
    metrics(moved("member", "UNJOINED", "join", "PREPARING_REBALANCE", 1_000))
    metrics(event.RebalanceFailed(at_ms=1_100, error="MEMBER_ID_REQUIRED"))
    metrics(moved("member", "PREPARING_REBALANCE", "join", "PREPARING_REBALANCE", 1_200))
    metrics(response("JoinGroup", 40, at_ms=1_300))
    metrics(moved("member", "PREPARING_REBALANCE", "joined", "COMPLETING_REBALANCE", 1_300))
    metrics(response("SyncGroup", 5, at_ms=1_400))
    metrics(moved("member", "COMPLETING_REBALANCE", "synced", "STABLE", 1_400))
    told = shown(metrics, group, now_ms=4_500)
    assert (told["rebalance-latency-total"], told["rebalance-total"], told["failed-rebalance-total"]) == (
        400,
        1,
        1,
    )
    assert (told["join-time-max"], told["join-total"], told["sync-time-avg"], told["sync-total"]) == (
        40,
        1,
        5,
        1,
    )
    assert told["last-rebalance-seconds-ago"] == 3
    assert told["rebalance-rate-per-hour"] == pytest.approx(3_600 / 33.1)


def test_a_reconciliation_lasts_until_it_is_acknowledged():
    metrics, group = ConsumerMetrics("c", "consumer"), COORDINATOR["consumer"]
    for before, cause, after, at_ms in (
        ("JOINING", "target", "RECONCILING", 100),
        ("RECONCILING", "target", "RECONCILING", 200),
        ("RECONCILING", "reconciled", "ACKNOWLEDGING", 350),
        ("ACKNOWLEDGING", "reached", "STABLE", 400),
        ("STABLE", "target", "RECONCILING", 500),
        ("RECONCILING", "fenced", "FENCED", 600),
        ("JOINING", "target", "RECONCILING", 700),
        ("RECONCILING", "reached", "STABLE", 710),
    ):
        metrics(moved("membership", before, cause, after, at_ms))
    told = shown(metrics, group)
    assert (told["rebalance-latency-total"], told["rebalance-latency-max"]) == (260, 250)
    assert told["rebalance-total"] == 2 and "join-total" not in told


def test_heartbeats_commits_and_callbacks():
    metrics, group = ConsumerMetrics("c", "classic"), COORDINATOR["classic"]
    assert shown(metrics, group)["last-heartbeat-seconds-ago"] == -1
    metrics(
        event.RequestSent(at_ms=1_000, node=1, api="Heartbeat", version=4, correlation_id=1, size_bytes=9)
    )
    for api, latency_ms in (("Heartbeat", 3), ("Heartbeat", 9), ("OffsetCommit", 4)):
        metrics(response(api, latency_ms))
    for what, elapsed_ms in (("assigned", 1), ("revoked", 2), ("lost", 3), ("lost", 5)):
        metrics(event.ListenerReturned(at_ms=0, what=what, elapsed_ms=elapsed_ms))
    told = shown(metrics, group, now_ms=2_999)
    assert (told["heartbeat-response-time-max"], told["heartbeat-total"]) == (9, 2)
    assert (told["commit-latency-avg"], told["commit-total"]) == (4, 1)
    assert told["last-heartbeat-seconds-ago"] == 1
    assert [told[f"partition-{what}-latency-max"] for what in ("assigned", "revoked", "lost")] == [1, 2, 5]
    assert told["partition-lost-latency-avg"] == 4


def test_the_application_polls():
    metrics = ConsumerMetrics("c", None)
    assert shown(metrics)["last-poll-seconds-ago"] == -1 and isnan(shown(metrics)["poll-idle-ratio-avg"])
    metrics.poll_began(100)
    metrics.poll_ended(100, 100)  # it took no time, so there is no ratio
    metrics.poll_began(200)
    metrics.poll_ended(200, 500)
    told = shown(metrics, now_ms=2_300)
    assert (told["time-between-poll-avg"], told["time-between-poll-max"]) == (50, 100)
    assert told["poll-idle-ratio-avg"] == 0.75 and told["last-poll-seconds-ago"] == 2


def test_latest_smallest_and_hourly_values():
    metrics = ConsumerMetrics("c", "classic", window_ms=1_000, samples=2)
    for at_ms, lead in ((0, 9), (100, 2), (3_000, 4)):
        metrics(fetches.NothingToReturn(at_ms=at_ms, partition="t-0", offset=1, lead=lead))
    told = shown(metrics, PARTITION, "t-0", 3_100)
    assert (told["records-lead"], told["records-lead-min"]) == (4, 4)
    assert isnan(shown(metrics, FETCH, now_ms=9_000)["records-lead-min"])
