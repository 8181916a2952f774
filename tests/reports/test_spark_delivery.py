"""Spark's judgement of delivery against two others: the online count, and counting by hand."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from harness import delivery
from harness.outcome import Outcome, Verdict
from harness.pack import pack
from harness.rows import Delivery, Ending
from harness.store import RunStore
from reports.analysis import analyse
from reports.session import spark_session

#: PySpark 4.0 leaves the closing of its sockets to the garbage collector.
pytestmark = [
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

HISTORIES = 300


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session("local[2]") as session:
        yield session
    gc.collect()


def counted_by_hand(story: Any) -> Delivery:
    """The definitions of ``harness.delivery``, read literally: quadratic, no cleverness."""
    evidence = story.evidence()
    sends = evidence.sends
    records = [
        (record.partition, record.offset, identity.n if identity and evidence.is_ours(identity) else None)
        for record, identity in zip(evidence.log, evidence.identities, strict=True)
        if not record.control
    ]
    numbers = [n for _, _, n in records if n is not None]
    acked = {n for n, send in sends.items() if send.outcome is Outcome.OK}
    firsts = [
        (partition, offset, n)
        for partition, offset, n in records
        if n in acked and not any(p == partition and m == n and o < offset for p, o, m in records)
    ]
    outcomes = Counter(send.outcome for send in sends.values())
    return Delivery(
        sent=len(sends),
        acked=len(acked),
        failed=outcomes[Outcome.FAIL],
        unknown=outcomes[Outcome.INFO],
        in_log=len(records),
        lost=len(acked - set(numbers)),
        duplicated=len(numbers) - len(set(numbers)),
        reordered=sum(any(p == q and o < at and m > n for q, o, m in firsts) for p, at, n in firsts),
        phantom=sum(n not in sends or sends[n].outcome is Outcome.FAIL for _, _, n in records),
    )


def test_random_histories_are_counted_alike_by_spark_by_the_online_checks_and_by_hand(
    spark: Any, any_story: Callable[..., Any], run_of: Callable[..., RunStore]
) -> None:
    dice = Random(20_260_301)
    stories = [any_story(f"random-{number}", dice) for number in range(HISTORIES)]
    by_hand = {story.spec.trial: counted_by_hand(story) for story in stories}
    for story in stories:
        assert delivery.count(story.evidence()) == by_hand[story.spec.trial], story.spec.trial
        story.delivery = by_hand[story.spec.trial]

    analysis = analyse(spark, str(pack(run_of(*stories))))

    by_spark = {row.pop("trial"): Delivery(**row) for row in analysis.rows("delivery")}
    assert by_spark == by_hand
    assert all(any(getattr(counts, name) for counts in by_hand.values()) for name in Delivery.__struct_fields__)
    assert analysis.rows("disagreements") == []
    complete = sorted(story.spec.trial for story in stories if story.ending is Ending.COMPLETE)
    assert 0 < len(complete) < HISTORIES
    assert sorted(row["trial"] for row in analysis.rows("compared")) == complete
