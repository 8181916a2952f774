"""The second judgement of trials that consume: three programs find the same, and every change of a table is named.

The transforms run in this process here, without Spark. The model below is written from the definitions, in plain loops.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.consumer_contract import (
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RecordsConsumed,
)
from harness.model.contract import OpComplete, ShutdownComplete
from harness.model.evidence import Evidence
from harness.model.harness_events import GroupCommitted, MemberKilled
from harness.model.verdicts import Guarantee
from harness.simulated.judged import simulate
from harness.workloads.consume import accounting
from harness.workloads.consume.tables import GROUP_ANOMALIES
from tests.reports.spark.second_judgement import BROKER, BROKERS, judged, packed, strays
from tests.suites.checks.consume.group_story import GroupStory

Row = tuple[str, int | None, int | None, str | None]


def recomputed(evidence: Evidence) -> Counter[Row]:
    """Return what the second judgement finds, which is what differs if the first one found nothing."""
    tables = packed(evidence)
    tables["group_anomalies"] = tables["group_anomalies"].clear()
    return Counter(
        {
            (row["kind"], each["partition"], each["offset"], each["detail"]): each["recomputed"]
            for row in judged(tables)["identities"].iter_rows(named=True)
            for each in row["named"]
        }
    )


def found_online(evidence: Evidence) -> Counter[Row]:
    rows = packed(evidence)["group_anomalies"]
    return Counter(rows.select("kind", "partition", "offset", "detail").iter_rows())


class Model:
    """The same, by the definitions: one pass over the history, with the present owner of each partition."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence, self.found = evidence, list[Row]()
        self.owners: list[dict[str, Any]] = []
        self.now: dict[tuple[str, int], dict[str, Any]] = {}
        self.log = {(row.partition, row.offset): row.value for row in evidence.log}
        self.companions = {"m3"}

    def rows(self) -> Counter[Row]:
        for event in self.evidence.history:
            self.step(event, str(event.producer or ""))
        self.deliveries()
        self.runs()
        self.together()
        if self.evidence.record.spec.guarantee is Guarantee.AT_LEAST_ONCE:
            self.early()
        self.regress()
        return Counter(self.found)

    def end(self, who: str, partition: int, at_ns: int) -> None:
        if owner := self.now.pop((who, partition), None):
            owner["end"] = at_ns

    def begin(self, who: str, partition: int, **more: Any) -> dict[str, Any]:
        owner = {"who": who, "partition": partition, "end": None, "runs": [[]], "sought": [], **more}
        self.owners.append(owner)
        self.now[who, partition] = owner
        return owner

    def step(self, event: Any, who: str) -> None:
        match event:
            case PartitionsAssigned():
                known = event.generation if event.generation >= 0 else None
                for place in event.partitions:
                    self.end(who, place.partition, event.mono_ns)
                    self.begin(who, place.partition, begin=event.mono_ns, generation=known)
            case PartitionsRevoked() | PartitionsLost():
                for place in event.partitions:
                    self.end(who, place.partition, event.mono_ns)
            case MemberKilled() | ShutdownComplete():
                for _, partition in [key for key in self.now if key[0] == who]:
                    self.end(who, partition, event.mono_ns)
            case OpComplete(op="seek"):
                for key, owner in self.now.items():
                    if key[0] == who:
                        owner["sought"].append(event.mono_ns)
                        owner["runs"].append([])
            case RecordsConsumed():
                for part in event.partitions:
                    owner = self.now.get((who, part.partition)) or self.begin(
                        who, part.partition, begin=event.polled_ns, generation=None
                    )
                    if event.polled_ns >= owner["begin"]:
                        run = sum(sought <= event.polled_ns for sought in owner["sought"])
                        owner["runs"][run] += part.offsets
            case _:
                pass

    def deliveries(self) -> None:
        ends: defaultdict[int, int] = defaultdict(int)
        seen: set[tuple[int, int]] = set()
        for got in accounting.deliveries(self.evidence):
            place = got.partition, got.offset
            ends[got.partition] = max(ends[got.partition], got.offset + 1)
            if place in seen:
                self.found.append(("redelivered", *place, got.member))
            seen.add(place)
            if self.log.get(place, "nothing") != got.value:
                self.found.append(("foreign", *place, got.member))
        for event in self.evidence.history:
            if isinstance(event, GroupCommitted):
                for at in event.offsets:
                    ends[at.partition] = max(ends[at.partition], at.offset)
        for place in self.log.keys() - seen:
            self.found.append(("missed", *place, None))
            if place[1] < ends[place[0]]:
                self.found.append(("skipped", *place, None))

    def runs(self) -> None:
        for owner in self.owners:
            for run in owner["runs"] if owner["who"] not in self.companions else ():
                for before, after in pairwise(run):
                    if after <= before:
                        self.found.append(("backwards", owner["partition"], after, owner["who"]))
                    for place in self.log:
                        if place[0] == owner["partition"] and before < place[1] < after:
                            self.found.append(("gap", *place, owner["who"]))

    def together(self) -> None:
        for older, newer in combinations(sorted(self.owners, key=lambda owner: owner["begin"]), 2):
            same = all(older[key] == newer[key] for key in ("partition", "generation"))
            is_open = older["end"] is None or newer["begin"] < older["end"]
            if same and older["generation"] is not None and older["who"] != newer["who"] and is_open:
                names = f"{older['who']} {newer['who']} {older['generation']}"
                self.found.append(("two-owners", older["partition"], None, names))

    def early(self) -> None:
        processed: defaultdict[tuple[str, int], int] = defaultdict(int)
        committed: defaultdict[int, int] = defaultdict(int)
        for event in self.evidence.history:
            who = str(event.producer or "")
            if isinstance(event, RecordsConsumed):
                for part in event.partitions:
                    processed[who, part.partition] = max(
                        processed[who, part.partition], *(n + 1 for n in part.offsets)
                    )
            elif isinstance(event, OffsetsCommitted):
                for at in event.offsets:
                    most = max(processed[who, at.partition], committed[at.partition])
                    committed[at.partition] = max(committed[at.partition], at.offset)
                    own = event.success and event.how != "auto" and who not in self.companions
                    if own and at.offset > most:
                        self.found.append(("committed-early", at.partition, at.offset, who))

    def regress(self) -> None:
        made = [
            event for event in self.evidence.history if isinstance(event, OffsetsCommitted) and event.success
        ]
        made.sort(key=lambda event: event.invoke_ns)
        for owner in self.owners:
            if len(owner["runs"]) > 1 or owner["who"] in self.companions:
                continue
            mine = [
                at.offset
                for event in made
                for at in event.offsets
                if (event.producer, at.partition) == (owner["who"], owner["partition"])
                and owner["begin"] <= event.invoke_ns
                and (owner["end"] is None or event.invoke_ns <= owner["end"])
            ]
            for before, after in pairwise(mine):
                if after < before:
                    self.found.append(("commit-regress", owner["partition"], after, owner["who"]))


def random_group(seed: int) -> Evidence:
    """Return a group in which anything happens, whether a client may do it or not."""
    dice = Random(seed)
    told = GroupStory(dice.choice([Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE]))
    told.start("m1", "m2")
    told.start("m3", companion="java@4.3.1")
    told.silent = set(told.members)
    at_ms = 0
    for partition in (0, 1):
        told.write(dice.randrange(8), partition)
    for _ in range(dice.randrange(40)):
        at_ms += dice.choice([0, 1, 7, 30])
        who, partition, offset = dice.choice(["m1", "m1", "m2", "m3"]), dice.randrange(2), dice.randrange(9)
        match dice.randrange(9):
            case 0 | 1 | 2:
                offsets = sorted(dice.sample(range(9), dice.randrange(1, 4)), reverse=dice.random() < 0.2)
                value = "another" if dice.random() < 0.1 else None
                told.take(who, partition, *offsets, at_ms=at_ms, took_ms=dice.choice([0, 5, 40]), value=value)
            case 3:
                told.assign(who, partition, at_ms=at_ms, generation=dice.randrange(-1, 3))
            case 4:
                told.revoke(who, partition, at_ms=at_ms, lost=dice.random() < 0.5)
            case 5 | 6:
                how = dice.choice(["sync", "async", "auto"])
                told.commit(who, partition, offset, at_ms, dice.choice([0, 5, 60]), dice.random() < 0.7, how)
            case 7:
                told.sought(who, at_ms)
            case _:
                told.kill(who, at_ms)
    told.stored(p0=dice.randrange(9), p1=dice.randrange(9))
    return told.evidence()


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_three_programs_find_the_same(seed: int) -> None:
    evidence = random_group(seed)
    model = Model(evidence).rows()
    assert found_online(evidence) == model
    tables = packed(evidence)
    found = judged(tables)
    assert strays(found) == {}
    assert dict(found["consumption"].drop("trial").row(0, named=True)) == accounting.count(evidence)
    assert sum(found["identities"]["compared"]) == len(model)


def test_random_groups_have_every_kind_of_anomaly() -> None:
    kinds = {row[0] for seed in range(150) for row in Model(random_group(seed)).rows()}
    assert kinds == set(GROUP_ANOMALIES)


@pytest.mark.parametrize(
    ("scenario", "client"),
    [
        ("group/kill", "reference"),
        ("group/freeze", "reference"),
        ("group/join-new-protocol", "reference"),
        ("consume/disconnect-assigned", "reference"),
        ("delivery/sought-back", "reference"),
        ("delivery/log-trimmed", "reference"),
        ("consume/codecs", "reference"),
        ("consume/compacted", "reference"),
        ("consume/control-tail", "reference"),
        ("consume/open-transaction", "reference"),
        ("consume/transactions-committed", "reference"),
        ("consume/transactions-uncommitted", "reference"),
        ("consume/unclean-election", "reference"),
        ("group/upgrade-cooperative", "reference"),
        ("consume/transactions-committed", "mutant-reads_aborted_records"),
        ("group/join", "mutant-leader_assigns_twice"),
        ("group/join", "mutant-commits_one_too_far"),
        ("consume/disconnect", "mutant-drops_last_record_of_poll"),
    ],
)
def test_both_judgements_of_a_trial_agree(scenario: str, client: str) -> None:
    evidence, verdict = simulate(scenario, client, 3, BROKERS.get(scenario, BROKER))
    tables = packed(evidence, verdict)
    found = judged(tables)
    assert strays(found) == {}
    for ours, theirs in (("consumption", "consumption"), ("outcomes", "outcomes")):
        told, again = (
            tables[ours].drop("trial").row(0, named=True),
            found[theirs].drop("trial").row(0, named=True),
        )
        assert told == again
