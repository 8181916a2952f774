"""The content of a trial's page."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import files
from harness.files import zstd
from harness.judging.frame_excerpt import WireLine, origin_ns, wire_lines
from harness.model.contract import Configured
from harness.model.evidence import Evidence
from harness.model.rows import RequirementVerdict, TrialRecord, TrialVerdict
from harness.model.spec import Origin, TrialSpec, own_name
from harness.planning.run_command import run_command
from harness.planning.user_settings import written
from harness.plugins import registry
from harness.plugins.workload import WorkloadKind
from harness.text import redaction
from harness.text.commands import replay_command
from harness.text.escaping import safe_each
from reports.doubts import Doubt
from reports.pages.drawing import Figure
from reports.pages.group.figure import figure
from reports.pages.group.figure import notes as notes_of
from reports.pages.group.story import Story
from reports.pages.group.tables import MemberRow, PartitionRow, member_rows, partition_rows
from reports.pages.log_order import log_order
from reports.pages.tcp_lines import TcpLine, tcp_lines, tcp_notes
from reports.pages.timeline import notes, timeline
from reports.pages.words import PROMISES

if TYPE_CHECKING:
    from reports.spark.analysis import Row

#: Files of a trial's folder that readers open, in this order. Others follow by name.
FILES = ("verdict.json", "trial.json", "history.jsonl", "faults.jsonl", "frames.jsonl", "log.jsonl")


@dataclass(frozen=True)
class TrialRows:
    """Spark's results for one trial."""

    delivery: Row | None
    doubts: Sequence[Doubt]
    explanations: Row | None
    latency: Sequence[Row]
    windows: Sequence[Row]
    recovery: Sequence[Row]
    resent: Sequence[Row]
    traffic: Row | None


@dataclass(frozen=True)
class Group:
    """What the page shows of a group of consumers."""

    figure: Figure
    notes: Sequence[str]
    #: What its protocol calls a generation.
    generation: str
    members: Sequence[MemberRow]
    partitions: Sequence[PartitionRow]


@dataclass(frozen=True)
class TrialPage:
    """Everything that the template shows."""

    verdict: TrialVerdict
    spec: TrialSpec
    element: str
    done: str
    load: Mapping[str, str]
    recounted: bool
    reproduce: str
    about: Mapping[str, str]
    reason_of_ending: str
    requirements: Sequence[RequirementVerdict]
    faults: Sequence[Mapping[str, Any]]
    timeline: Figure
    timeline_notes: Sequence[str]
    log_order: Figure
    group: Group | None
    latency: Sequence[Row]
    delivery: Sequence[Mapping[str, Any]]
    doubts: Sequence[Doubt]
    explanations: Row | None
    traffic: Row | None
    lines: Sequence[WireLine]
    wire: Mapping[str, Any]
    frames: int
    tcp_notes: Sequence[str]
    tcp: Sequence[TcpLine]
    applied: Sequence[tuple[str, str, str]]
    not_set: Sequence[tuple[str, str]]
    settings: Sequence[tuple[str, str, str]]
    files: Sequence[str]


def trial_page(evidence: Evidence, verdict: TrialVerdict, rows: TrialRows, folder: Path) -> TrialPage:
    """Return the page of a trial whose files are in ``folder``. Only the folder's list of names is read."""
    record = evidence.record
    kind = registry.workload(record.spec.workload.kind)
    resent = {row["frame"] for row in rows.resent}
    lines = wire_lines(evidence, verdict, resent)
    return TrialPage(
        verdict=verdict,
        spec=record.spec,
        element=kind.element,
        done=kind.done,
        load=kind.shown(record.spec),
        recounted=kind.recounted,
        reproduce=reproduce(record.spec, folder),
        about=_about(record),
        reason_of_ending=record.reason,
        requirements=verdict.requirements,
        faults=_faults(evidence, rows.recovery),
        timeline=timeline(evidence, resent, rows.windows),
        timeline_notes=notes(evidence),
        log_order=log_order(evidence),
        group=None if kind.members is None else _group(evidence),
        latency=rows.latency,
        delivery=_counts(verdict, rows.delivery, kind),
        doubts=rows.doubts,
        explanations=rows.explanations,
        traffic=rows.traffic,
        lines=lines,
        wire=wire_table(lines),
        frames=len(evidence.frames),
        tcp_notes=tcp_notes(evidence),
        tcp=tcp_lines(evidence),
        applied=_applied(evidence),
        not_set=sorted(record.not_set.items()),
        settings=_settings(record.spec),
        files=_files(folder),
    )


def _group(evidence: Evidence) -> Group:
    story = Story.of(evidence)
    return Group(
        figure(evidence, story), notes_of(story), story.generation, member_rows(story), partition_rows(story)
    )


def reproduce(spec: TrialSpec, folder: Path) -> str:
    """Return the command that runs exactly this trial again: from its names, or else from its ``folder``."""
    client = spec.client
    return run_command(spec) or replay_command(folder, is_command=bool(client.command), env=client.env)


def _about(record: TrialRecord) -> dict[str, str]:
    """Return what the page says of the client: the user's own command, and what the client reported of itself."""
    argv = record.spec.client.command
    own = {"command": shlex.join(argv)} if argv else {}
    return own | {name: _words(value) for name, value in record.client.items() if value is not None}


def wire_table(lines: Iterable[WireLine]) -> dict[str, Any]:
    """Return the frames as the page's script writes them: the class of each column, and rows with their own first."""
    columns = ["num", "num", "", "", "num", "", "num", "details"]
    lines = list(lines)
    texts = iter(safe_each([text for line in lines for text in _wire_texts(line)]))
    return {"columns": columns, "rows": [[_wire_class(line), *islice(texts, len(columns))] for line in lines]}


def _wire_class(line: WireLine) -> str:
    marks = {"again": line.again, "fault": line.fault, "gap": line.gap}
    return " ".join(name for name, is_so in marks.items() if is_so)


def _wire_texts(line: WireLine) -> tuple[str, ...]:
    return (
        str(line.number),
        f"{line.at_ms:.3f}",
        line.arrow,
        f"{line.conn}@{line.broker}",
        "" if line.correlation_id is None else str(line.correlation_id),
        line.what,
        str(line.size_bytes or ""),
        ("again: " if line.again else "") + line.details,
    )


def _settings(spec: TrialSpec) -> list[tuple[str, str, str]]:
    """Return (name, value, origin) of every setting of the trial, a client's own last."""
    java = [
        (name, written(value), spec.origins.get(name, Origin.PROFILE))
        for name, value in redaction.settings(spec.config).items()
    ]
    own = redaction.settings(spec.client_config)
    return java + [(own_name(spec.client.name, key), value, Origin.USER) for key, value in own.items()]


def _faults(evidence: Evidence, recovery: Sequence[Row]) -> list[dict[str, Any]]:
    origin = origin_ns(evidence)
    recovered = {row["index"]: row["recovered_ms"] for row in recovery}
    return [
        {
            "kind": row.spec.kind,
            "params": ", ".join(f"{name}={value}" for name, value in sorted(row.spec.params.items())),
            "requested": _window_ms(row.requested_ns, origin),
            "effective": _window_ms(row.effective_ns, origin),
            "hits": row.hits,
            "recovered_ms": recovered.get(row.index),
        }
        for row in evidence.faults
    ]


def _window_ms(window_ns: tuple[int, int] | None, origin: int) -> tuple[float, float] | None:
    return None if window_ns is None else ((window_ns[0] - origin) / 1e6, (window_ns[1] - origin) / 1e6)


def _counts(verdict: TrialVerdict, recomputed: Row | None, kind: WorkloadKind) -> list[dict[str, Any]]:
    """Return the rows of the counts. Only a workload that is recounted has promises and a second judgement."""
    promises = PROMISES.get(verdict.guarantee, {}) if kind.recounted else {}
    again: Row = (recomputed or {}) if kind.recounted else {}
    return [
        {
            "count": name,
            "judged": judged,
            "recomputed": again.get(name),
            "promise": promises.get(name, ""),
            "meaning": kind.meaning.get(name, ""),
        }
        for name, judged in verdict.counts.items()
    ]


def _applied(evidence: Evidence) -> list[tuple[str, str, str]]:
    """Return (Java name, the client's own name, value), as the client reported them."""
    answers = [event.applied for event in evidence.history if isinstance(event, Configured)]
    return [
        (name, own, _words(value)) for answer in answers[-1:] for name, (own, value) in sorted(answer.items())
    ]


def _files(folder: Path) -> list[str]:
    names = {name for name in files.names(folder, folder.parents[1]) if not name.startswith(".")}
    places = {name: place for place, name in enumerate(FILES)}
    return sorted(names, key=lambda name: (places.get(name.removesuffix(zstd.SUFFIX), len(FILES)), name))


def _words(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
