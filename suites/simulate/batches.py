"""Many simulated trials, in this process or in several. Each is run, judged and, if it is to be kept, stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from enum import StrEnum
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from harness.files.row_files import encoded
from harness.model.evidence import Evidence
from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, TrialSpec
from harness.model.verdicts import EXIT_CODES, Guarantee, Verdict
from harness.planning import selection
from harness.planning.own_load import OwnLoad
from harness.planning.user_settings import NONE, UserSettings
from harness.plugins import registry
from harness.simulated.generated import specs
from harness.simulated.judged import try_spec
from harness.storage.run_store import RunStore
from harness.system.interpreter import collect_rarely
from harness.system.workers import prepare_processes

#: How many seeds a process gets at a time: enough to outweigh the transfer, few enough for visible progress.
BATCH = 50
DIGEST_BYTES = 16


class Keep(StrEnum):
    """Which trials keep their evidence. ``failed``: those that would not be allowed to pass, or that differ."""

    FAILED = "failed"
    ALL = "all"
    NONE = "none"

    def wants(self, verdict: TrialVerdict) -> bool:
        """True if a trial with this verdict is kept."""
        told = Verdict(verdict.verdict)
        return self is Keep.ALL or (
            self is Keep.FAILED and (told is Verdict.DIFFERS or EXIT_CODES[told] != 0)
        )


class Job(NamedTuple):
    """What to run: seeds of a scenario, for each client with the user's settings, and where kept evidence goes."""

    scenario: str
    guarantees: tuple[Guarantee, ...]
    clients: tuple[ClientRef, ...]
    broker: str | None
    keep: Keep
    folder: Path
    user: UserSettings = NONE
    load: OwnLoad | None = None
    with_digests: bool = False


class Tried(NamedTuple):
    """One trial: its spec if it was kept, its verdict, its duration in virtual time, and its digest if requested."""

    kept: TrialSpec | None
    verdict: TrialVerdict
    virtual_ns: int
    digest: int = 0


def tried(job: Job, seeds: Sequence[int]) -> list[Tried]:
    """Run the trials of these seeds, one after the other."""
    collect_rarely()
    [loaded] = selection.loaded([registry.scenario(job.scenario)], job.load)
    scenario = replace(loaded, guarantees=job.guarantees)
    return [_one(job, spec) for spec in specs(scenario, job.clients, seeds, job.broker, job.user)]


def in_batches(job: Job, seeds: range, processes: int) -> Iterator[list[Tried]]:
    """Run all seeds in ``processes`` processes, and yield each batch as it ends.

    If the caller stops iterating, the remaining batches are stopped.
    """
    batches = (seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH))
    if processes <= 1:
        for batch in batches:
            yield tried(job, batch)
        return
    prepare_processes()
    with ProcessPoolExecutor(processes, mp_context=get_context("forkserver")) as pool:
        under_way: set[Future[list[Tried]]] = set()
        try:
            for batch in batches:
                under_way.add(pool.submit(tried, job, batch))
                if len(under_way) > processes:
                    done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            while under_way:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _one(job: Job, spec: TrialSpec) -> Tried:
    evidence, verdict = try_spec(spec)
    kept = job.keep.wants(verdict)
    if kept:
        store = RunStore(job.folder)
        store.write_evidence(evidence)
        store.write_verdict(verdict)
    digest = _digest(evidence, verdict) if job.with_digests else 0
    return Tried(spec if kept else None, verdict, _lasted_ns(evidence), digest)


def _digest(evidence: Evidence, verdict: TrialVerdict) -> int:
    """Return a number that is the same only for the same evidence and verdict, byte for byte."""
    rows = (evidence.history, evidence.frames, evidence.blocked_frames, evidence.faults, evidence.log)
    hashed = blake2b(encoded((evidence.record, verdict)), digest_size=DIGEST_BYTES)
    for each in (*rows, evidence.trace, evidence.tcp):
        hashed.update(blake2b(encoded(each)).digest())
    return int.from_bytes(hashed.digest(), "big")


def _lasted_ns(evidence: Evidence) -> int:
    moments = [event.mono_ns for event in evidence.history]
    return (evidence.record.phases.end_ns or 0) - moments[0] if moments else 0
