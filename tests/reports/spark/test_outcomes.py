"""Spark's outcomes of a trial, compared with the judge's: equal for any history, and a changed one is found."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from harness.judging.availability import availability
from harness.model.rows import Availability, Disposition, FaultRow, Frame, FrameKind
from harness.model.spec import AtTime, FaultSpec
from harness.storage.parquet_schema import OUTCOMES
from harness.storage.parquet_writer import pack
from reports.spark.analysis import Analysis, analyse
from tests.reports.story import LOAD_NS, MS, Story, new_story

#: PySpark 4.0 leaves its sockets to the garbage collector.
pytestmark = [
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

HISTORIES = 150


def at(dice: Random, most_ms: int = 8_000) -> int:
    """Return a time of the load. Few of them differ, so that many events happen at once."""
    return LOAD_NS + dice.randrange(0, most_ms, dice.choice([1, 250, 1_000])) * MS + dice.choice([0, 0, 1])


def any_story(trial: str, dice: Random) -> Story:
    """Return a trial with records, faults and requests at random times."""
    story = new_story(trial, records=40)
    for n in range(dice.choice([0, 1, 5, 40])):
        invoke_ns = at(dice)
        story.send(n, invoke_ns)
        if dice.random() < 0.9:
            complete_ns = invoke_ns + dice.choice([0, 1, 5 * MS, dice.randrange(3_000) * MS])
            story.result(n, invoke_ns, complete_ns, dice.choice(["ok", "ok", "ok", "fail", "info"]))
    for index in range(dice.randrange(3)):
        window = tuple(sorted((at(dice), at(dice))))
        effective = window if dice.random() < 0.8 else None
        story.faults.append(FaultRow(index, FaultSpec("latency", AtTime(0), 1), window, effective, 1))
    for number in range(dice.randrange(6)):
        blocked = dice.random() < 0.4
        story.frames.append(
            Frame(
                t_ns=LOAD_NS + number,
                lane=0,
                broker=1,
                conn=1,
                kind=dice.choice([FrameKind.REQUEST, FrameKind.REQUEST, FrameKind.RESPONSE]),
                size_bytes=dice.randrange(50, 5_000),
                api_key=0,
                api=dice.choice(["Produce", "Produce", "Metadata"]),
                fault="dropped_request" if blocked else None,
                disposition=Disposition.BLOCKED if blocked else None,
            )
        )
    return story


def analysed(spark: Any, run_of: Callable[..., Any], *stories: Story) -> Analysis:
    return analyse(spark, str(pack(run_of(*stories)).folder))


def test_outcomes_of_any_history_are_those_of_the_judge(spark, run_of) -> None:
    dice = Random(0xA11)
    stories = [any_story(f"random-{number}", dice) for number in range(HISTORIES)]
    for story in stories:
        story.counts = story.counts | {
            name: getattr(availability(story.evidence()), ours)
            for name, ours in (
                ("sent", "offered"),
                ("acked", "acked"),
                ("failed", "failed"),
                ("unknown", "unknown"),
            )
        }
        story.availability = availability(story.evidence())
    analysis = analysed(spark, run_of, *stories)
    by_spark = {row.pop("trial"): row for row in analysis.rows("outcomes")}
    assert by_spark == {story.spec.trial: asdict(story.availability) for story in stories}
    assert not [
        row for row in analysis.rows("disagreements") if row["count"] in OUTCOMES and row["count"] != "acked"
    ]
    for name in OUTCOMES:
        assert len({row[name] for row in by_spark.values()}) > 1, f"{name} is the same in all histories"


def test_each_changed_outcome_is_a_disagreement(spark, run_of) -> None:
    stories = []
    for name in OUTCOMES:
        story = next(
            made
            for seed in range(1_000)
            if getattr(availability((made := any_story(name, Random(seed))).evidence()), name) is not None
        )
        told = availability(story.evidence())
        value = getattr(told, name)
        story.availability = replace(told, **{name: not value if isinstance(value, bool) else value + 1})
        story.counts = story.counts | {
            "sent": told.offered,
            "acked": told.acked,
            "failed": told.failed,
            "unknown": told.unknown,
        }
        stories.append(story)
    rows = analysed(spark, run_of, *stories).rows("disagreements")
    found = {(row["trial"], row["count"]) for row in rows if row["count"] not in ("lost", "unexpected")}
    assert found == {(name, name) for name in OUTCOMES}


def test_outcomes_of_a_verdict_of_an_earlier_version_are_not_compared(spark, run_of) -> None:
    story = any_story("old", Random(5))
    story.availability = Availability(offered=99)
    rows = analysed(spark, run_of, story).rows("disagreements")
    assert not {row["count"] for row in rows} & (OUTCOMES.keys() - {"acked", "failed", "unknown"})
