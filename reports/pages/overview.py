"""The content of the first page: a summary of the run, agreement, the matrix, requirements, measurements."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.judging.availability import words
from harness.model.rows import TrialVerdict
from harness.model.units import told_s
from harness.model.verdicts import SEVERITY, Verdict, worst
from harness.outcomes.words import acknowledged
from harness.storage.parquet_schema import OUTCOMES
from harness.storage.run_store import RunRecord
from harness.text.version_order import by_version
from harness.workloads.produce.tables import DELIVERY
from reports.pages.words import SECOND
from reports.spark.derived import CELL, measured

if TYPE_CHECKING:
    from reports.spark.analysis import Analysis, Row


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix: its worst verdict, ``(seed, verdict, trial)`` of each trial, their availability share."""

    verdict: str
    trials: Sequence[Mapping[str, Any]]
    share: str


@dataclass(frozen=True)
class MatrixRow:
    """One scenario under one guarantee and in one variant: client -> its cell. A client without a cell was not run.

    ``element`` and ``done`` are what its workload calls an element of the load, and one that succeeded.
    """

    scenario: str
    guarantee: str
    variant: str
    element: str
    done: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Matrix:
    """The results on one broker."""

    broker: str
    clients: Sequence[str]
    rows: Sequence[MatrixRow]

    @property
    def varied(self) -> bool:
        """True if a variant has to be shown."""
        return any(row.variant for row in self.rows)


def matrices(analysis: Analysis, verdicts: Iterable[TrialVerdict]) -> list[Matrix]:
    """Return one matrix per broker. The columns are clients, sorted by name and then by version as numbers."""
    known = {verdict.trial: verdict for verdict in verdicts}
    rows = analysis.rows("matrix")
    clients = sorted({row["client"] for row in rows}, key=by_version)
    found = []
    for broker in sorted({row["broker"] for row in rows}):
        cells: dict[tuple[str, str, str], dict[str, Cell]] = {}
        for row in rows:
            if row["broker"] == broker:
                here = cells.setdefault((row["scenario"], row["guarantee"], row["variant"]), {})
                share = acknowledged([known[trial["trial"]] for trial in row["trials"]])
                here[row["client"]] = Cell(row["verdict"], row["trials"], share)
        found.append(
            Matrix(
                broker,
                clients,
                [MatrixRow(*cell, *words([cell[0]]), here) for cell, here in sorted(cells.items())],
            )
        )
    return found


def strip(record: RunRecord, analysis: Analysis) -> list[tuple[str, str]]:
    """Return (label, text) pairs about the run: what ran, when, for how long, on what."""
    trials = analysis.rows("trials")
    seeds = sorted({spec.seed for spec in record.plan.trials})
    planned, finished = len(record.plan.trials), len(trials)
    return [
        ("run", record.run_id),
        ("started", record.started_utc),
        ("trials took", _span(trials)),
        ("finished", f"{finished} of {planned} planned trials"),
        (
            "seed" if len(seeds) == 1 else "seeds",
            ", ".join(map(str, seeds[:20])) + (" …" if seeds[20:] else ""),
        ),
        ("broker", ", ".join(sorted({spec.broker for spec in record.plan.trials}))),
        ("jobs", str(record.jobs)),
        ("ended", record.stop_reason or "it did not: still running, or killed"),
        *sorted(record.environment.items()),
    ]


def wrong(verdicts: Iterable[TrialVerdict]) -> list[TrialVerdict]:
    """Return the trials that did not pass, the worst first."""
    return sorted(
        (verdict for verdict in verdicts if verdict.verdict != Verdict.PASS),
        key=lambda verdict: SEVERITY.index(Verdict(verdict.verdict)),
    )


def requirements(analysis: Analysis) -> list[dict[str, Any]]:
    """Return ``id, level, cells`` of every judged requirement.

    ``cells``: client -> worst verdict, number of trials and of findings.
    """
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in analysis.rows("coverage"):
        found.setdefault((row["id"], row["level"]), {}).setdefault(row["client"], []).append(row)
    return [
        {
            "id": requirement,
            "level": level,
            "cells": {
                client: {
                    "verdict": worst(Verdict(row["verdict"]) for row in rows).value,
                    "trials": sum(row["trials"] for row in rows),
                    "findings": sum(row["findings"] for row in rows),
                    "words": ", ".join(f"{row['verdict']} {row['trials']}" for row in rows),
                }
                for client, rows in clients.items()
            },
        }
        for (requirement, level), clients in sorted(found.items())
    ]


def second_judgement(analysis: Analysis) -> list[Row]:
    """Return ``what, meaning, compared, differing`` of PySpark's judgement over all trials, counts first."""
    compared, differing = Counter[str](), Counter[str]()
    outcomes = measured(analysis.rows("trials"), analysis.rows("judged_outcomes"))
    compared["counts"] = analysis.compared * len(DELIVERY) + len(outcomes) * len(OUTCOMES)
    differing["counts"] = len(analysis.rows("disagreements"))
    for row in analysis.rows("identities"):
        compared[row["kind"]] += row["compared"]
        differing[row["kind"]] += row["differing"]
    for row in analysis.rows("explanations"):
        compared["explained"] += row["duplicated"] if row["compared"] else 0
        differing["explained"] += row["differing"]
    return [
        {"what": what, "meaning": meaning, "compared": compared[what], "differing": differing[what]}
        for what, meaning in SECOND.items()
    ]


def measurements(analysis: Analysis) -> list[Row]:
    """Return the rows of the table measurements, with their latencies (or None) as ``quiet`` and ``during``."""
    latencies: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in analysis.rows("latency_cells"):
        latencies.setdefault(_cell(row), {})[row["phase"]] = row
    rows = []
    for row in sorted(
        analysis.rows("measurements"), key=lambda row: (*_cell(row)[:4], by_version(row["client"]))
    ):
        phases = latencies.get(_cell(row), {})
        rows.append(
            {**row, "quiet": phases.get("calm") or phases.get("before"), "during": phases.get("during")}
        )
    return rows


def command_line(argv: Sequence[str]) -> str:
    """Return a command in a form that can be pasted into a shell."""
    return shlex.join(argv)


def _cell(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in CELL)


def _span(trials: Sequence[Row]) -> str:
    """Return the time from the first trial's load to the last one's end."""
    begins = [row["load_ns"] for row in trials if row["load_ns"] is not None]
    ends = [row["end_ns"] for row in trials if row["end_ns"] is not None]
    if not begins or not ends:
        return "unknown"
    return told_s((max(ends) - min(begins)) / 1e9)
