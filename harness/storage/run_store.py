"""The run folder: crash-safe writing during a run, and reading afterwards.

``runs/<run>/run.json`` has the plan and the environment of the run. ``trials/<trial>/`` has the rows of one trial,
compressed (:mod:`harness.files.zstd`). :mod:`harness.files` writes and reads the files, ``verdict.json`` last: a trial
is finished exactly if that file exists, however the run ended. ``runs/latest`` is a pointer file. The process that
executes a run holds a lock on its folder, which ends with the process in any case.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness import files
from harness.baseline import KnownFailure
from harness.files.row_files import at_rest, encoded, looking, read_json, read_rows, write_json, write_lines
from harness.limits.memory import A_VERDICT, PLAN_BYTES, VERDICTS_BYTES, Room, needed
from harness.limits.meter import EVIDENCE, Limit, Meter, evidence_limit
from harness.model.contract import AnyEvent
from harness.model.errors import UsageError
from harness.model.evidence import Evidence, passed_and_stopped
from harness.model.path_names import component, folder_name
from harness.model.rows import SCHEMA_VERSION, FaultRow, Frame, LogRecord, TrialRecord, TrialVerdict
from harness.model.run_files import FAULTS, FRAMES, HISTORY, LATEST, LOG, RUN, TCP, TRACE, TRIAL, VERDICT
from harness.model.spec import Plan, TrialSpec
from harness.model.tcp_facts import TcpFact
from harness.model.verdicts import Level, Verdict
from harness.planning import own_commands, typed_settings, validate_plan
from harness.storage import unreadable
from harness.storage.latest import newest, resolved
from harness.text.escaping import is_text, safe_line

T = TypeVar("T")


class LeftOut(msgspec.Struct, frozen=True):
    """A client that could not be installed, so that none of its trials were run: the code of the error, and why."""

    client: str
    code: str
    reason: str


class ShardOf(msgspec.Struct, frozen=True):
    """Which part of a plan a run has: shard ``number`` of ``of``; the plan's trials are counted, and have a digest."""

    number: int
    of: int
    trials: int
    plan: str


class RunRecord(msgspec.Struct, frozen=True):
    """``run.json``: the plan, where it runs, and how it ended (``stop_reason`` null: still running, or killed)."""

    run_id: str
    started_utc: str
    plan: Plan
    jobs: int
    environment: dict[str, str]
    command: list[str]
    stop_reason: str | None = None
    capture: bool = False
    #: The known failures when the run began. A run is always judged by these, even if the baseline changes later.
    baseline: tuple[KnownFailure, ...] = ()
    #: Failing trials are repeated until they have this number of attempts.
    deflake: int = 1
    #: What the user demands of the outcomes (:mod:`harness.outcomes.thresholds`).
    thresholds: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    #: With MUST, differences are listed and do not count.
    level: Level = Level.SHOULD
    shard: ShardOf | None = None
    #: The runs of which this one was merged.
    merged: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION


class _AnyRow(msgspec.Struct):
    """A row of any content, none of which is kept."""


def _assert_text(path: Path) -> None:
    if not is_text(str(path)):
        raise UsageError(
            "path-not-utf-8",
            "{path!r} is not valid UTF-8, so the files of a run cannot store it: use another folder",
            path=str(path),
        )


class RunStore:
    """One run's folder, with the limits of what is written for one trial and of all verdicts that are read."""

    def __init__(
        self, folder: Path, evidence_limit: Limit = EVIDENCE, verdicts_bytes: int = VERDICTS_BYTES
    ) -> None:
        self.folder = folder
        self._evidence_limit, self._verdicts_bytes = evidence_limit, verdicts_bytes

    @classmethod
    def create(cls, out_dir: Path, record: RunRecord) -> RunStore:
        """Create a new folder for ``record`` under ``out_dir``, and the ``latest`` pointer to it.

        Raise UsageError if the name exists, and EnvironmentProblem if it cannot be written.
        """
        _assert_text(out_dir)
        store = cls(out_dir / folder_name(record.run_id, "run"))
        try:
            files.new_folder(store.folder)
        except FileExistsError:
            raise UsageError(
                "run-exists", "{path} already exists, and a run is never replaced", path=store.folder
            ) from None
        except OSError as error:
            raise files.unwritten(store.folder, error) from error
        store._write(RUN, msgspec.structs.replace(record, plan=typed_settings.stored_plan(record.plan)))
        files.write_whole(out_dir / LATEST, f"{record.run_id}\n".encode())
        return store

    @classmethod
    def open(cls, path: Path) -> RunStore:
        """Open the run at ``path``: its folder, ``runs/latest``, or a folder of runs (its newest one).

        Raise UsageError for anything else.
        """
        _assert_text(path)
        with looking(path):
            path = resolved(path)
            if not path.is_dir():
                raise UsageError(
                    "not-a-run",
                    "{path} is not a folder of a run",
                    hint="kafka-trial run prints the folder of its run",
                    path=path,
                )
            if not files.present(path / RUN) and files.present(path / LATEST):
                path = newest(path)
            if not files.present(path / RUN):
                raise UsageError(
                    "not-a-run",
                    "{path} is not a run: it has no {file}",
                    hint="kafka-trial run prints the folder of its run",
                    path=path,
                    file=RUN,
                )
        return cls(path)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the exclusive right to execute this run. Raise UsageError if another process has it."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    "run-in-use", "another process is executing the run {path}", path=self.folder
                ) from None
            yield
        finally:
            os.close(folder)

    @property
    def record(self) -> RunRecord:
        """Return the plan and how the run ended."""
        record = read_json(self.folder / RUN, RunRecord, self.folder, Room(PLAN_BYTES))
        folder_name(record.run_id, "run")
        own_commands.check(spec.client for spec in record.plan.trials)
        return record

    def replace_plan(self, plan: Plan) -> None:
        """Replace the stored plan, for a run that keeps only some of its trials."""
        self._write(RUN, msgspec.structs.replace(self.record, plan=typed_settings.stored_plan(plan)))

    def leave_out(self, clients: tuple[LeftOut, ...]) -> None:
        """Store which clients of the plan could not be installed."""
        record = self.record
        if record.left_out != clients:
            self._write(RUN, msgspec.structs.replace(record, left_out=clients))

    def stop(self, reason: str) -> None:
        """Store why the run ended, as a line that is safe to display."""
        self._write(RUN, msgspec.structs.replace(self.record, stop_reason=safe_line(reason)))

    def trial_folder(self, trial: str) -> Path:
        """Return the folder of a trial. Raise UsageError for a name that leads elsewhere."""
        return self.folder / "trials" / component(trial, "trial")

    def make_folder(self, folder: Path) -> Path:
        """Create ``folder`` in the run if it is missing, and return it. Raise EnvironmentProblem if that fails."""
        try:
            files.make_folder(folder, self.folder)
        except OSError as error:
            raise files.unwritten(folder, error) from error
        return folder

    def begin(self, trial: str) -> None:
        """Create an empty folder for a trial. Files of an unfinished attempt are removed."""
        folder = self.trial_folder(trial)
        try:
            files.remove_tree(folder, self.folder)
        except OSError as error:
            raise files.unwritten(folder, error) from error
        self.make_folder(folder)

    def finished(self, trial: str) -> bool:
        """True if the trial was collected and judged."""
        folder = self.trial_folder(trial)
        with looking(folder):
            return files.present(folder / VERDICT, self.folder)

    def write_evidence(self, evidence: Evidence) -> None:
        """Write all files of a trial except its verdict.

        Raise OverLimit, and write none, if it could not be read again.
        """
        planned = evidence.record.spec
        folder = self.trial_folder(planned.trial)
        frames = sorted((*evidence.frames, *evidence.blocked_frames), key=lambda row: row.t_ns)
        rows: dict[str, Iterable[Any]] = {
            HISTORY: evidence.history,
            FRAMES: frames,
            FAULTS: evidence.faults,
            LOG: evidence.log,
            TRACE: evidence.trace,
            TCP: evidence.tcp,
        }
        lines = {name: encoded(some) for name, some in rows.items() if some or name not in (TRACE, TCP)}
        meter = Meter(str(planned.client), planned.workload.records)
        meter.hold(self._limit(planned), sum(map(needed, lines.values())))
        for name, data in lines.items():
            write_lines(folder / name, data, self.folder)
        spec = typed_settings.stored_spec(planned)
        write_json(folder / TRIAL, msgspec.structs.replace(evidence.record, spec=spec), self.folder)

    def _limit(self, spec: TrialSpec) -> Limit:
        own = self._evidence_limit
        return evidence_limit(spec.workload) if own is EVIDENCE else own

    def trial_record(self, trial: str) -> TrialRecord:
        """Return the spec of a trial, and how it ended."""
        path = self.trial_folder(trial) / TRIAL
        record = read_json(path, TrialRecord, self.folder)
        if record.spec.trial != trial:
            raise UsageError(
                "other-trial", "{path} belongs to the trial {trial!r}", path=path, trial=record.spec.trial
            )
        own_commands.check([record.spec.client])
        return record

    def read_evidence(self, trial: str, *, with_trace: bool = True) -> Evidence:
        """Read what :meth:`write_evidence` wrote. Without ``with_trace``, its trace is only checked to be rows."""
        folder = self.trial_folder(trial)
        record = self.trial_record(trial)
        validate_plan.check_workload(record.spec)
        room = Room(evidence_limit(record.spec.workload).base)
        captured = record.capture is not None and record.capture.unavailable_reason is None
        frames, stopped = passed_and_stopped(read_rows(folder / FRAMES, Frame, self.folder, room))
        with looking(folder):
            traced = files.present(at_rest(folder / TRACE, self.folder), self.folder)
        row = dict[str, Any] if with_trace else _AnyRow
        history = read_rows(folder / HISTORY, AnyEvent, self.folder, room)
        faults = read_rows(folder / FAULTS, FaultRow, self.folder, room)
        log = read_rows(folder / LOG, LogRecord, self.folder, room)
        trace = read_rows(folder / TRACE, row, self.folder, room) if traced else ()
        return Evidence(
            record=record,
            history=history,
            frames=frames,
            faults=faults,
            log=log,
            trace=trace if with_trace else (),
            blocked_frames=stopped,
            tcp=read_rows(folder / TCP, TcpFact, self.folder, room) if captured else (),
        )

    def write_verdict(self, verdict: TrialVerdict) -> None:
        """Write the last file of a trial, which makes it finished."""
        write_json(self.trial_folder(verdict.trial) / VERDICT, verdict, self.folder)

    def verdict(self, trial: str, room: Room | None = None) -> TrialVerdict:
        """Return the verdict of a finished trial."""
        return read_json(self.trial_folder(trial) / VERDICT, TrialVerdict, self.folder, room)

    def verdicts(self) -> Iterator[TrialVerdict]:
        """Yield the verdicts of the finished trials in the plan's order: a harness-error for each unreadable one."""
        trials = self.record.plan.trials
        room = Room(self._verdicts_bytes + A_VERDICT * len(trials))
        for spec in trials:
            if self.finished(spec.trial):
                try:
                    yield self._verdict_of(spec, room)
                except UsageError as error:
                    yield unreadable.verdict(spec, unreadable.why(error))

    def _verdict_of(self, spec: TrialSpec, room: Room) -> TrialVerdict:
        path, verdict = self.trial_folder(spec.trial) / VERDICT, self.verdict(spec.trial, room)
        if (verdict.trial, verdict.client) != (spec.trial, str(spec.client)):
            raise UsageError(
                "other-trial",
                "{path} belongs to the trial {trial!r} of {client}; the plan has {planned!r} of {planned_client} there",
                path=path,
                trial=verdict.trial,
                client=verdict.client,
                planned=spec.trial,
                planned_client=spec.client,
            )
        if verdict.verdict not in set(Verdict):
            raise UsageError(
                "unknown-verdict",
                "{path} has the unknown verdict {verdict!r}",
                path=path,
                verdict=verdict.verdict,
            )
        return verdict

    def export(self, name: str) -> bytes:
        """Return a file that :mod:`harness.exports` wrote. Raise UsageError if it does not exist."""
        with looking(self.folder / name):
            return files.read_stored(self.folder / name, self.folder)

    def _write(self, name: str, row: Any) -> None:
        write_json(self.folder / name, row, self.folder)
