"""A whole trial of a correct client while responses are dropped."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from harness.model.contract import Configured, OpComplete, OpInvoke, StartupComplete
from harness.model.rows import (
    FaultRow,
    Frame,
    FrameKind,
    LogRecord,
    ProducePart,
    RequirementVerdict,
)
from harness.model.spec import AtTime, FaultSpec
from harness.model.verdicts import Guarantee
from tests.reports.story import LOAD_NS, MS, Story, new_story


def full_story(trial: str, **choices: object) -> Story:
    """Return a whole trial of a correct client: batches per partition, two dropped-response windows, retries.

    Under at-least-once each batch whose response was dropped is in the log twice, and the verdict counts it.
    """
    story = new_story(trial, **choices)
    work, dice = story.spec.workload, Random(trial)
    windows = [] if story.spec.scenario == "produce/calm" else [(1_200, 2_300), (3_600, 4_700)]
    story.say(
        StartupComplete,
        LOAD_NS - 900 * MS,
        client=story.spec.client.name,
        client_version=story.spec.client.version,
        language="python",
        features=[],
        contract_version=2,
    )
    applied = {name: (name, value) for name, value in story.spec.config.items()}
    story.say(Configured, LOAD_NS - 800 * MS, id=0, applied=applied, not_set={})
    conn = _Connection(story, windows)
    for first in range(0, work.records, work.records_per_command):
        t_ms = (
            first // work.records_per_command - 2
        ) * work.interval_ms  # the first two chunks warm the client up
        story.say(
            OpInvoke, LOAD_NS + t_ms * MS, op="send", id=first, first=first, count=work.records_per_command
        )
        for partition in range(work.partitions):
            batch = [
                n
                for n in range(first, min(first + work.records_per_command, work.records))
                if n % work.partitions == partition
            ]
            conn.produce(batch, partition, t_ms, dice)
    story.frames.sort(key=lambda frame: frame.t_ns)
    for index, (start, end) in enumerate(windows):
        asked = (LOAD_NS + start * MS, LOAD_NS + end * MS)
        really = (asked[0] + 40 * MS, asked[1] + 25 * MS)
        hits = sum(
            frame.kind is FrameKind.RESPONSE and really[0] <= frame.t_ns < really[1] for frame in story.frames
        )
        spec = FaultSpec("dropped_response", AtTime(start), end - start)
        story.faults.append(FaultRow(index, spec, asked, really, hits))
    extra = len(story.log) - work.records
    story.counts |= {
        "sent": work.records,
        "acked": work.records,
        "in_log": len(story.log),
        "duplicated": extra,
    }
    level = RequirementVerdict("E2E-DEL-01", "MUST", "pass")
    story.requirements = (level, RequirementVerdict("E2E-DEL-02", "MUST", "pass"))
    return story


@dataclass
class _Connection:
    story: Story
    windows: list[tuple[int, int]]
    number: int = 0
    correlation: int = 0

    def produce(self, batch: list[int], partition: int, t_ms: float, dice: Random) -> None:
        """Send a batch. In a window its response is dropped, and the batch is sent again."""
        window = next((w for w in self.windows if w[0] + 40 <= t_ms + 8 < w[1] + 25), None)
        idempotent = self.story.spec.guarantee is Guarantee.IDEMPOTENT
        sent_ms = t_ms + dice.uniform(5, 9)
        stored = self._exchange(batch, partition, sent_ms, dice, append=True)
        done_ms = sent_ms + dice.uniform(2, 12)
        if window:
            done_ms = window[1] + 25 + dice.uniform(100, 220)
            again = self._exchange(batch, partition, done_ms - 5, dice, append=not idempotent)
            stored = again or stored
        self.story.history.append(
            OpComplete(
                seq=0,
                mono_ns=int(LOAD_NS + done_ms * MS),
                wall_ns=0,
                op="send",
                id=batch[0],
                outcome=["ok"] * len(batch),
                error=[None] * len(batch),
                invoke_ns=[LOAD_NS + int(t_ms * MS)] * len(batch),
                complete_ns=[int(LOAD_NS + done_ms * MS)] * len(batch),
                records=batch,
                partition=[partition] * len(batch),
                offset=[record.offset for record in stored] if stored else [-1] * len(batch),
            ),
        )

    def _exchange(
        self, batch: list[int], partition: int, t_ms: float, dice: Random, *, append: bool
    ) -> list[LogRecord]:
        story, t_ns = self.story, int(LOAD_NS + t_ms * MS)
        self.correlation += 1
        base = sum(record.partition == partition for record in story.log)
        stored = (
            [story.store(n, partition, base_offset=base, batch_crc=batch[0] * 8 + partition) for n in batch]
            if append
            else []
        )
        sent = ProducePart(story.topic, partition, -1, -1, -1, len(batch), batch[0] * 8 + partition)
        answer = ProducePart(story.topic, partition, base_offset=base, error_code=0)
        for kind, part, at_ns in (
            (FrameKind.REQUEST, sent, t_ns),
            (FrameKind.RESPONSE, answer, t_ns + int(dice.uniform(0.4, 1.9) * MS)),
        ):
            story.frames.append(
                Frame(
                    t_ns=at_ns,
                    lane=0,
                    broker=1,
                    conn=1 + sum(t_ms > end for _, end in self.windows),
                    kind=kind,
                    size_bytes=len(batch) * 180,
                    api_key=0,
                    api="Produce",
                    api_version=11,
                    correlation_id=self.correlation,
                    client_id="p1",
                    produce=(part,),
                )
            )
        return stored
