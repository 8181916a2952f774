"""The run folder: crash-safe writing while a run goes on, and reading it back afterwards.

``runs/<run>/run.json`` is the plan and what it ran on; ``trials/<trial>/`` holds the rows of one trial. A file
is written under a temporary name and renamed when it is whole, ``verdict.json`` last of all: a trial is
finished exactly if that file exists, however the run ended. Rows are compressed (:mod:`harness.zstd`).
``runs/latest`` is a pointer file. Whoever carries a run out claims its folder, with a lock that ends with the process
however that ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness import own_commands, zstd
from harness.baseline import Known
from harness.capture.rows import TcpFact
from harness.contract import AnyEvent
from harness.errors import EnvironmentProblem, UsageError
from harness.evidence import Evidence, passed_and_stopped
from harness.names import component, folder_name
from harness.rows import SCHEMA_VERSION, FaultRow, Frame, LogRecord, TrialRecord, TrialVerdict
from harness.spec import Plan

T = TypeVar("T")

HISTORY, FAULTS, FRAMES, LOG = "history.jsonl", "faults.jsonl", "frames.jsonl", "log.jsonl"
TRACE = "trace.jsonl"
#: What the capture leaves where one was asked for; its own process writes both (:mod:`harness.capture`).
CAPTURE, TCP = "capture.pcapng", "tcp.jsonl"
TRIAL, VERDICT, RUN = "trial.json", "verdict.json", "run.json"


class RunRecord(msgspec.Struct, frozen=True):
    """``run.json``: the plan, where it runs and how it ended (``stop_reason`` null: still running, or killed)."""

    run_id: str
    started_utc: str
    plan: Plan
    jobs: int
    environment: dict[str, str]
    command: list[str]
    stop_reason: str | None = None
    capture: bool = False
    #: Known failures, as they were when the run began: a run is judged by its own, also tomorrow.
    baseline: tuple[Known, ...] = ()
    #: What is accused is tried until it was tried so often.
    deflake: int = 1
    schema_version: int = SCHEMA_VERSION


def partial_of(path: Path) -> Path:
    """Under which name ``path`` is written until it is whole."""
    return path.with_name(f".{path.name}.partial")


def write_whole(path: Path, data: bytes, writer: str = "") -> None:
    """Write ``data`` to ``path`` so that it is there whole or not at all. EnvironmentProblem if it cannot be.

    Where several processes write the same path, each needs a ``writer`` of its own.
    """
    partial = partial_of(path.with_name(path.name + writer))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise EnvironmentProblem(
            f"cannot write {path}: {error.strerror or error}", hint="name a writable folder with --out-dir"
        ) from error


def write_json(path: Path, row: Any) -> None:
    """One struct as one JSON document."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(row), indent=1) + b"\n")


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Structs as JSON lines, compressed, under the name of :func:`harness.zstd.at_rest`."""
    write_whole(zstd.at_rest(path), zstd.packed(msgspec.json.Encoder().encode_lines(list(rows))))


class _Versioned(msgspec.Struct):
    schema_version: int = SCHEMA_VERSION


def _read(path: Path, kind: Any, lines: bool) -> Any:
    decoder = msgspec.json.Decoder(kind)
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot read {path}: it is not a file")
    try:
        data = path.read_bytes()
        if path.suffix == zstd.SUFFIX:
            data = zstd.unpacked(data)
        if (
            not lines
            and (found := msgspec.json.decode(data, type=_Versioned).schema_version) != SCHEMA_VERSION
        ):
            raise UsageError(
                f"{path} is of schema version {found}; this kafka-trial reads version {SCHEMA_VERSION}"
            )
        return decoder.decode_lines(data) if lines else decoder.decode(data)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist: {path.parent} is not a complete folder of a run") from None
    except (OSError, zstd.Damaged, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def read_json(path: Path, kind: type[T]) -> T:
    """One struct from one JSON document; UsageError with the file and the place if it does not fit."""
    row: T = _read(path, kind, lines=False)
    return row


def read_rows(path: Path, kind: Any) -> tuple[Any, ...]:
    """Structs from JSON lines, compressed or, of older runs, plain."""
    return tuple(_read(_kept(path), kind, lines=True))


def _kept(path: Path) -> Path:
    """Where the rows of ``path`` are: compressed, or plain where there is nothing under that name."""
    compressed = zstd.at_rest(path)
    return compressed if os.path.lexists(compressed) else path


class RunStore:
    """One run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, out_dir: Path, record: RunRecord) -> RunStore:
        """A new folder for ``record`` under ``out_dir``, and the ``latest`` pointer to it."""
        store = cls(out_dir / folder_name(record.run_id, "run"))
        write_json(store.folder / RUN, record)
        write_whole(out_dir / "latest", f"{record.run_id}\n".encode(), writer=f".{os.getpid()}")
        return store

    @classmethod
    def open(cls, path: Path) -> RunStore:
        """The run at ``path``: its folder, or a folder of runs (then its ``latest``). UsageError for anything else."""
        if not path.is_dir():
            raise UsageError(
                f"{path} is not a folder of a run", hint="kafka-trial run prints the folder of its run"
            )
        if not (path / RUN).exists() and (path / "latest").is_file():
            path = path / folder_name((path / "latest").read_text(errors="replace").strip(), "run")
        if not (path / RUN).exists():
            raise UsageError(
                f"{path} is not a run: it has no {RUN}", hint="kafka-trial run prints the folder of its run"
            )
        return cls(path)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Be the only one that carries this run out. UsageError if another process is at it."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"another process is carrying out the run {self.folder}") from None
            yield
        finally:
            os.close(folder)

    @property
    def record(self) -> RunRecord:
        """What was planned, and how the run ended."""
        record = read_json(self.folder / RUN, RunRecord)
        folder_name(record.run_id, "run")
        own_commands.check(spec.client for spec in record.plan.trials)
        return record

    def replace_plan(self, plan: Plan) -> None:
        """Write down another plan: of a run that keeps only some of its trials, what it kept."""
        write_json(self.folder / RUN, msgspec.structs.replace(self.record, plan=plan))

    def stop(self, reason: str) -> None:
        """Write down why the run ended."""
        write_json(self.folder / RUN, msgspec.structs.replace(self.record, stop_reason=reason))

    def trial_folder(self, trial: str) -> Path:
        """Where a trial's files are. UsageError for a name that leads elsewhere."""
        return self.folder / "trials" / component(trial, "trial")

    def begin(self, trial: str) -> None:
        """An empty folder for a trial: what an unfinished one has left is removed."""
        folder = self.trial_folder(trial)
        try:
            if folder.is_symlink():
                folder.unlink()
            elif folder.exists():
                shutil.rmtree(folder)
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise EnvironmentProblem(f"cannot write {folder}: {error.strerror or error}") from error

    def finished(self, trial: str) -> bool:
        """True if the trial was collected and judged."""
        return (self.trial_folder(trial) / VERDICT).exists()

    def write_evidence(self, evidence: Evidence) -> None:
        """All files of a trial but its verdict."""
        folder = self.trial_folder(evidence.record.spec.trial)
        write_rows(folder / HISTORY, evidence.history)
        write_rows(folder / FRAMES, sorted((*evidence.frames, *evidence.stopped), key=lambda row: row.t_ns))
        write_rows(folder / FAULTS, evidence.faults)
        write_rows(folder / LOG, evidence.log)
        if evidence.trace:
            write_rows(folder / TRACE, evidence.trace)
        if evidence.tcp:
            write_rows(folder / TCP, evidence.tcp)
        write_json(folder / TRIAL, evidence.record)

    def read_evidence(self, trial: str) -> Evidence:
        """What :meth:`write_evidence` wrote."""
        folder = self.trial_folder(trial)
        record = read_json(folder / TRIAL, TrialRecord)
        if record.spec.trial != trial:
            raise UsageError(f"{folder / TRIAL} is of the trial {record.spec.trial!r}")
        own_commands.check([record.spec.client])
        captured = record.capture is not None and record.capture.lacks is None
        frames, stopped = passed_and_stopped(read_rows(folder / FRAMES, Frame))
        return Evidence(
            record=record,
            history=read_rows(folder / HISTORY, AnyEvent),
            frames=frames,
            faults=read_rows(folder / FAULTS, FaultRow),
            log=read_rows(folder / LOG, LogRecord),
            trace=read_rows(folder / TRACE, dict[str, Any]) if os.path.lexists(_kept(folder / TRACE)) else (),
            stopped=stopped,
            tcp=read_rows(folder / TCP, TcpFact) if captured else (),
        )

    def write_verdict(self, verdict: TrialVerdict) -> None:
        """The last file of a trial: it makes it finished."""
        write_json(self.trial_folder(verdict.trial) / VERDICT, verdict)

    def verdicts(self) -> Iterator[TrialVerdict]:
        """The verdicts of the finished trials, in the plan's order."""
        for spec in self.record.plan.trials:
            if self.finished(spec.trial):
                path = self.trial_folder(spec.trial) / VERDICT
                verdict = read_json(path, TrialVerdict)
                if (verdict.trial, verdict.client) != (spec.trial, str(spec.client)):
                    raise UsageError(
                        f"{path} is of the trial {verdict.trial!r} of {verdict.client}; "
                        f"{self.folder / RUN} has {spec.trial!r} of {spec.client} there"
                    )
                yield verdict
