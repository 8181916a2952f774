"""Simulated trials of the reference client with the evidence of a live one, and ways to damage them.

Each test damages one channel only, and the completeness check must find that the others contradict it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from msgspec.structs import replace as restruct

from harness.judging.completeness import lacking
from harness.model.contract import OpInvoke
from harness.model.evidence import Evidence, passed_and_stopped
from harness.model.spec import ClientRef
from harness.model.units import NS_PER_MS
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.trial.patience import CLOSE_TIMEOUT_MS
from suites.perturbations.edits import with_record

ANY = "generated/any"
SEEDS = range(1, 4)
CLOSE_NS = CLOSE_TIMEOUT_MS * NS_PER_MS


@cache
def whole(seed: int = 1) -> Evidence:
    """Return the evidence of a trial, undamaged."""
    ref = ClientRef("reference", registry.client("reference").default_version)
    return SimulatedTrial(spec_of(registry.scenario(ANY), ref, seed), RUN_ID).run()


def rows_of(evidence):
    """Return all rows of the witness in order of time, including those of stopped frames."""
    return sorted((*evidence.frames, *evidence.blocked_frames), key=lambda row: row.t_ns)


def with_rows(evidence, rows):
    """Return the evidence with these rows of the witness."""
    frames, stopped = passed_and_stopped(rows)
    return replace(evidence, frames=frames, blocked_frames=stopped)


def code_of(evidence):
    """Return the code of what the evidence lacks, or None if it is complete."""
    reason = lacking(evidence)
    return reason and reason.code


def without(rows, at):
    """Return the rows without the one at ``at``."""
    return (*rows[:at], *rows[at + 1 :])


def produce_told(evidence):
    """Return the indexes of Produce requests in the trace."""
    return [
        at
        for at, each in enumerate(evidence.trace)
        if each.__struct_config__.tag == "request_sent" and each.api == "Produce"
    ]


def killed_in_close(evidence, **phases):
    """Return the evidence of a process that did not close in time and was killed."""
    history = evidence.history
    at = next(at for at, event in enumerate(history) if isinstance(event, OpInvoke) and event.op == "close")
    now = evidence.record.phases
    waited = restruct(now, **{"end_ns": now.final_ns + CLOSE_NS} | phases)
    return with_record(replace(evidence, history=history[: at + 1]), phases=waited)
