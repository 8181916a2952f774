"""What the harness writes for the members of a group, and what it asks of each of them. Pure.

Records are numbered from 0 in the order in which they are written. A record's partition, key and value depend only on
its number, so a reader of the log knows which it is.
"""

from __future__ import annotations

from typing import Final

from harness.model.consumer_contract import Assign, Position, Subscribe
from harness.model.spec import ClientRef, TrialSpec
from harness.model.verdicts import Guarantee
from harness.model.written import Written
from harness.workloads.produce.commands import keys_of, value_of

#: How a member commits under a guarantee, unless it commits automatically.
COMMITS: Final = {Guarantee.AT_MOST_ONCE: "sync-first", Guarantee.AT_LEAST_ONCE: "sync"}
AUTO: Final = "enable.auto.commit"


#: The codecs that commands take in turn (``codecs``): those that every client reads without another library.
CODECS: Final = ("none", "gzip")
#: How many records of each partition an aborted transaction has.
ABORTED: Final = 4


def written(spec: TrialSpec, run_id: str, topic: str, numbers: range) -> Written:
    """Return the records of these numbers. Partitions take turns.

    Of three transactions one is surrounded by an aborted one, and one is followed by an empty one. The last is both, so
    the log ends with markers.
    """
    workload = spec.workload
    params, turn = workload.params, workload.turn_of(numbers.start)
    is_last = numbers.stop == workload.records
    return Written(
        id=0,
        topic=topic,
        first=numbers.start,
        keys=keys_of(workload, numbers),
        values=[value_of(workload, run_id, topic, n) for n in numbers],
        partitions=[n % workload.partitions for n in numbers],
        codec=CODECS[turn % len(CODECS)] if params.get("codecs") else "none",
        transactional=bool(params.get("transactions")),
        aborted=ABORTED if turn % 3 == 1 or is_last else 0,
        empty=turn % 3 == 2 or is_last,
    )


def members(spec: TrialSpec) -> dict[str, ClientRef]:
    """Return the places with which a group begins, each with its client: those of companions come last."""
    own = (spec.client,) * spec.workload.params.get("members", 1)
    return {f"m{number}": ref for number, ref in enumerate((*own, *spec.companions), start=1)}


def begin(spec: TrialSpec, topic: str) -> Subscribe | Assign:
    """Return the first command of every member: to subscribe, or to assign itself all partitions."""
    commit = "auto" if spec.config.get(AUTO) else COMMITS[spec.guarantee]
    params = spec.workload.params
    if params.get("commit_async") and commit == "sync":
        commit = "async"
    processing_ms = params.get("processing_ms", 0)
    if params.get("assign"):
        places = [Position(topic, partition, -1) for partition in range(spec.workload.partitions)]
        return Assign(0, places, commit, processing_ms)
    return Subscribe(0, [topic], None, commit, processing_ms)
