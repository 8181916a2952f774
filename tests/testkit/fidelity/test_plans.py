"""Plans are reproducible, varied and playable, and the comparison finds one wrong error code or rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest
from kio.schema.errors import ErrorCode

from harness.brokers.scripted import fetch_sessions, fetching, partition_log, transaction_index, validation
from harness.brokers.scripted.apis import metadata, produce
from harness.brokers.scripted.groups import classic_group, consumer_group, consumer_requests, offsets
from harness.brokers.scripted.producer_state import ProducerStateEntry, ProducerStateManager
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.releases import RELEASES
from harness.brokers.scripted.transactions import admission, coordinator, ending
from harness.brokers.scripted.transactions import metadata as transaction_metadata
from harness.wire.apis import Api
from testkit.fidelity import classic_plans, consumer_plans, reading_plans, transaction_plans
from testkit.fidelity import group_steps as g
from testkit.fidelity import reading_steps as r
from testkit.fidelity import steps as s
from testkit.fidelity import transaction_steps as t
from testkit.fidelity.differences import KNOWN, reason
from testkit.fidelity.plans import draw, draw_outage

pytestmark = pytest.mark.long("plays many plans on two clusters")

SEEDS = range(120)


def parts(plan: s.FidelityPlan) -> list[s.Part]:
    return [part for step in plan.steps if isinstance(step, s.Produce) for part in step.parts]


def test_seed_determines_the_plan() -> None:
    assert draw(7, "4.3.1", 3) == draw(7, "4.3.1", 3)
    assert draw(7, "4.3.1", 3) != draw(8, "4.3.1", 3)
    assert draw_outage(7, "4.3.1", 1) == draw_outage(7, "4.3.1", 1)


@pytest.mark.parametrize("version", RELEASES)
def test_all_defects_versions_and_steps_are_drawn(version: str) -> None:
    plans = [draw(seed, version, 3) for seed in SEEDS] + [draw_outage(seed, version, 3) for seed in range(3)]
    every = [part.batch for plan in plans for part in parts(plan)]
    assert {batch.defect for batch in every} == set(s.Defect)
    assert {batch.codec for batch in every} == {"NONE", "GZIP", "SNAPPY", "LZ4", "ZSTD"}
    kinds = Counter(type(step) for plan in plans for step in plan.steps)
    assert set(kinds) == set((s.Ask | s.Fault).__args__)
    produced = {step.version for plan in plans for step in plan.steps if isinstance(step, s.Produce)}
    assert produced >= set(range(3, RELEASES[version].ranges[0][1] + 1))
    assert {step.acks for plan in plans for step in plan.steps if isinstance(step, s.Produce)} >= {
        -1,
        0,
        1,
        2,
    }


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("version", RELEASES)
def test_correct_brokers_agree(differing: Any, version: str, nodes: int) -> None:
    for plan in (draw(5, version, nodes), draw(6, version, nodes), draw_outage(5, version, nodes)):
        assert differing(plan, version, lambda _patch: None) == []


# The scripted brokers have no defects that can be switched on, so each sabotage patches the function with the rule.


CONSUMERS = (reading_plans.draw, classic_plans.draw, consumer_plans.draw)


def test_every_request_of_a_consumer_is_drawn() -> None:
    plans = [drawn(seed, "4.3.1", 3) for drawn in CONSUMERS for seed in SEEDS]
    assert plans == [drawn(seed, "4.3.1", 3) for drawn in CONSUMERS for seed in SEEDS]
    steps = [step for plan in plans for step in plan.steps]
    every = set(get_args(r.ReadingStep) + get_args(g.GroupStep)) - {g.Wait}
    assert every <= {type(step) for step in steps}
    ranges = RELEASES["4.3.1"].ranges
    for kind, api in ((r.Fetch, Api.FETCH), (g.JoinGroup, Api.JOIN_GROUP), (g.OffsetFetch, Api.OFFSET_FETCH)):
        low, high = ranges[api]
        assert {step.version for step in steps if isinstance(step, kind)} >= set(range(low, high + 1))
    assert {step.session_epoch for step in steps if isinstance(step, r.Fetch)} == set(r.SessionEpoch)


@pytest.mark.parametrize("nodes", [1, 3])
def test_correct_brokers_agree_about_consumers(differing: Any, nodes: int) -> None:
    for drawn in CONSUMERS:
        for seed in range(3):
            assert differing(drawn(seed, "4.3.1", nodes), "4.3.1", lambda _patch: None) == []


def _answers_joins_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(classic_group.ClassicGroup, "has_all_joined", property(lambda _: True))


def _knows_no_leader_epochs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fetching, "check_replica", lambda *_, **__: None)


def _tells_everything_in_sessions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fetch_sessions.FetchSession, "is_news", lambda *_, **__: True)


def _fences_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(consumer_requests, "_check_epoch", lambda *_: None)


def _gives_partitions_away(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(consumer_group.ConsumerGroup, "_is_held", lambda *_: False)


def _knows_no_aborted_transactions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transaction_index.TransactionIndex, "between", lambda *_: [])


@pytest.mark.parametrize(
    ("draw_consumer", "sabotage"),
    [
        (reading_plans.draw, _knows_no_leader_epochs),
        (reading_plans.draw, _tells_everything_in_sessions),
        (reading_plans.draw, _knows_no_aborted_transactions),
        (classic_plans.draw, _answers_joins_at_once),
        (consumer_plans.draw, _fences_nobody),
        (consumer_plans.draw, _gives_partitions_away),
    ],
)
def test_broken_broker_is_found_by_consumers(
    differing: Any, draw_consumer: Any, sabotage: Callable[[pytest.MonkeyPatch], None]
) -> None:
    assert any(differing(draw_consumer(seed, "4.3.1", 1), "4.3.1", sabotage) for seed in SEEDS)


def test_every_request_of_a_transactional_producer_is_drawn() -> None:
    plans = [transaction_plans.draw(seed, "4.3.1", 3) for seed in SEEDS]
    assert plans == [transaction_plans.draw(seed, "4.3.1", 3) for seed in SEEDS]
    steps = [step for plan in plans for step in plan.steps]
    assert set(get_args(t.TransactionStep)) <= {type(step) for step in steps}
    for kind, api, low in (
        (t.InitTransactions, Api.INIT_PRODUCER_ID, 0),
        (t.AddToTransaction, Api.ADD_PARTITIONS_TO_TXN, 0),
        (t.ProduceInTransaction, Api.PRODUCE, 7),
        (t.AddGroupToTransaction, Api.ADD_OFFSETS_TO_TXN, 0),
        (t.CommitInTransaction, Api.TXN_OFFSET_COMMIT, 0),
        (t.FinishTransaction, Api.END_TXN, 0),
    ):
        high = RELEASES["4.3.1"].ranges[api][1]
        assert {step.version for step in steps if isinstance(step, kind)} == set(range(low, high + 1))


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("version", RELEASES)
def test_correct_brokers_agree_about_transactions(differing: Any, version: str, nodes: int) -> None:
    for seed in range(4):
        plan = transaction_plans.draw(seed, version, nodes)
        assert differing(plan, version, lambda _patch: None) == []


def _verifies_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(admission, "_ask", lambda *_: {})


def _fences_no_producer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(coordinator, "_check_producer", lambda *_: None)


def _ends_as_before_kip_890(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(coordinator, "may_end_v2", ending.may_end_v1)


def _shows_pending_offsets(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(offsets.OffsetStore, "is_unstable", lambda *_: False)


def _forgets_what_was_asked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProducerStateManager, "check_verified", lambda *_: None)


def _bumps_no_epochs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transaction_metadata, "BUMPS_FROM_VERSION", 9)


@pytest.mark.parametrize(
    "sabotage",
    [
        _verifies_nothing,
        _fences_no_producer,
        _ends_as_before_kip_890,
        _shows_pending_offsets,
        _forgets_what_was_asked,
        _bumps_no_epochs,
    ],
)
def test_broken_broker_is_found_by_transactional_producers(
    differing: Any, sabotage: Callable[[pytest.MonkeyPatch], None]
) -> None:
    assert any(differing(transaction_plans.draw(seed, "4.3.1", 1), "4.3.1", sabotage) for seed in SEEDS)


def _accepts_gaps(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProducerStateEntry, "check", lambda *_: None)


def _knows_no_duplicates(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProducerStateEntry, "find_duplicate", lambda *_: None)


def _knows_four_duplicates(patch: pytest.MonkeyPatch) -> None:
    find = ProducerStateEntry.find_duplicate

    def forgetful(entry: ProducerStateEntry, epoch: int, first: int, last: int) -> Any:
        known = find(entry, epoch, first, last)
        return None if known is not None and len(entry.batches) == 5 and known is entry.batches[0] else known

    patch.setattr(ProducerStateEntry, "find_duplicate", forgetful)


def _wrong_code_for_acks(patch: pytest.MonkeyPatch) -> None:
    may_append = produce.may_append

    def wrong(*arguments: Any) -> bool:
        try:
            return may_append(*arguments)
        except RequestRefused as refused:
            if refused.code is ErrorCode.invalid_required_acks:
                raise RequestRefused(ErrorCode.invalid_request) from None
            raise

    patch.setattr(produce, "may_append", wrong)


def _believes_the_header(patch: pytest.MonkeyPatch) -> None:
    validate = validation.validate

    def believing(*given: Any) -> validation.Valid:
        valid = validate(*given)
        return valid._replace(newest_ms=valid.header.max_timestamp_ms)

    patch.setattr(partition_log, "validate", believing)


def _forgets_epochs(patch: pytest.MonkeyPatch) -> None:
    partitions = metadata.partition_rows
    patch.setattr(
        metadata,
        "partition_rows",
        lambda *given: (
            replace(each, leader_epoch=0) if hasattr(each, "leader_epoch") else each
            for each in partitions(*given)
        ),
    )


@pytest.mark.parametrize(
    "sabotage",
    [
        _accepts_gaps,
        _knows_no_duplicates,
        _knows_four_duplicates,
        _wrong_code_for_acks,
        _believes_the_header,
        _forgets_epochs,
    ],
)
def test_broken_broker_is_found(differing: Any, sabotage: Callable[[pytest.MonkeyPatch], None]) -> None:
    assert any(differing(draw(seed, "4.3.1", 3), "4.3.1", sabotage) for seed in SEEDS)


def test_known_difference_permits_no_other() -> None:
    missing = {"min_version": 0, "max_version": 1}
    assert reason("ApiVersions", "api_keys.25", missing, "absent") in KNOWN
    assert reason("ApiVersions", "api_keys.25", "absent", missing) is None
    assert reason("ApiVersions", "api_keys.0.max_version", 13, 12) is None
    assert reason("Produce", "responses.a.partition_responses.0.error_code", "none", "absent") is None
