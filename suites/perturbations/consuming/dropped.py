"""Records that members were not given after a failed commit, beyond what their applications dropped for it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from harness.model.evidence import Evidence
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.ownership import ownerships
from suites.perturbations.consuming.deliveries import once, with_value
from suites.perturbations.consuming.edits import commit, with_added
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.edits import with_record
from suites.perturbations.perturbation import channels

Dropped = tuple[str, int, int, int]


def _between_others(evidence: Evidence) -> Sequence[Dropped]:
    """Return process, partition and offset of records that an owner got between others, and when it was free before."""
    inner = set(once(evidence))
    return [
        (each.process, each.partition, got.offset, before.processed_ns)
        for each in ownerships(evidence)
        for run in each.runs
        for before, got in pairwise(run)
        if (got.partition, got.offset) in inner
    ]


def _beyond_failure(evidence: Evidence, place: Dropped) -> Evidence:
    process, partition, offset, free_ns = place
    features = evidence.record.client.get("features")
    told = [each for each in features if each != "seek"] if isinstance(features, list) else []
    unable = with_record(evidence, client=evidence.record.client | {"features": told})
    failed = commit(unable, process, partition, offset, free_ns, success=False, took_ns=1)
    return with_added(with_value(unable, (partition, offset), None), failed)


PERTURBATIONS = (
    Perturbation(
        "record-passed-over-after-a-failure",
        channels("history", "record"),
        "leaves out the record after those that its application could not commit, and cannot seek",
        ("gap",),
        _between_others,
        _beyond_failure,
        Verdict.FAIL,
        frozenset({Guarantee.AT_MOST_ONCE}),
        CONSUME,
    ),
)
