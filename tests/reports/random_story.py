"""A trial of random events, mostly wrong ones."""

from __future__ import annotations

from random import Random

from harness.model.evidence import PRODUCER
from harness.model.payload import Identity, encode
from harness.model.rows import (
    Ending,
    FaultRow,
)
from harness.model.spec import AtTime, FaultSpec
from tests.reports.story import LOAD_NS, LOAD_WALL_MS, MS, RUN, Story, new_story


def random_story(trial: str, dice: Random) -> Story:
    """Return a trial of random events, mostly wrong ones: for counting, not for judging."""
    story = new_story(trial, acks=dice.choice(["all", "all", "all", "1"]), records=12, keys=3)
    if dice.random() < 0.1:
        story.ending = Ending.HARNESS_ERROR
    numbers = list(range(dice.choice([0, 3, 6, 12])))
    for n in numbers:
        story.send(n, LOAD_NS + n * MS)
    if dice.random() < 0.2:
        window = (LOAD_NS, LOAD_NS + MS)
        effective = window if dice.random() < 0.5 else None
        story.faults.append(FaultRow(0, FaultSpec("topic_growth", AtTime(0), 1), window, effective, 1))
    offsets: dict[int, int] = {}
    for n in dice.sample(numbers, k=dice.choice([len(numbers), len(numbers) // 2])):
        outcome = dice.choice(["ok", "ok", "ok", "fail", "info"])
        partition = dice.randrange(2)
        offsets[partition] = offsets.get(partition, -1) + 1
        story.result(n, LOAD_NS + n * MS, LOAD_NS + (n + 5) * MS, outcome, partition, offsets[partition])
    for _ in range(dice.choice([0, 10, 40])):
        n, partition = dice.randrange(len(numbers) + 2), dice.randrange(2)
        change = dice.choice(
            [_WHOLE, _WHOLE, _WHOLE, _WHOLE, _control, _damaged, _foreign_run, _foreign_producer, _strange]
        )
        story.store(n, partition, **change(story, n))
    return story


def _WHOLE(story: Story, n: int) -> dict[str, object]:  # noqa: N802
    return {}


def _control(story: Story, n: int) -> dict[str, object]:
    return {"control": True, "key": None, "value": None}


def _damaged(story: Story, n: int) -> dict[str, object]:
    return {"value": encode(Identity(RUN, story.topic, PRODUCER, n), 80)[:-1] + "!"}


def _strange(story: Story, n: int) -> dict[str, object]:
    return {"timestamp_ms": 0 if n % 2 else LOAD_WALL_MS + 3_600_000}


def _foreign_run(story: Story, n: int) -> dict[str, object]:
    return {"value": encode(Identity("another", story.topic, PRODUCER, n), 80)}


def _foreign_producer(story: Story, n: int) -> dict[str, object]:
    return {"value": encode(Identity(RUN, story.topic, "p2", n), 80)}
