"""Results that follow from those of Spark: disagreements, published verdicts, and one row for each cell.

They have few rows, so they need no Spark. A cell is what differs only in its seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import pyarrow as pa

from harness.model.verdicts import Verdict, worst
from harness.storage.parquet_schema import OUTCOMES
from harness.workloads.consume.tables import CONSUMPTION
from harness.workloads.produce.tables import DELIVERY
from reports.spark.task import CONSUME

Row = dict[str, Any]
Rows = Mapping[str, list[Row]]

#: The columns of a matrix cell. Its trials differ only in their seeds and attempts.
CELL = ("broker", "scenario", "guarantee", "variant", "client")

_CELL_FIELDS = [(name, pa.string()) for name in CELL]
_LATENCIES = ("p50_ms", "p95_ms", "p99_ms", "max_ms")
_COUNTS = ("acked", "failed", "unknown")

SCHEMAS: Mapping[str, pa.Schema] = {
    "disagreements": pa.schema(
        [
            ("trial", pa.string()),
            ("count", pa.string()),
            ("judged", pa.int64()),
            ("recomputed", pa.int64()),
        ]
    ),
    "matrix": pa.schema(
        [
            *_CELL_FIELDS,
            ("verdict", pa.string()),
            (
                "trials",
                pa.list_(pa.struct([("seed", pa.int64()), ("verdict", pa.string()), ("trial", pa.string())])),
            ),
        ]
    ),
    "coverage": pa.schema(
        [
            *((name, pa.string()) for name in ("id", "level", "client", "verdict")),
            ("trials", pa.int64()),
            ("findings", pa.int64()),
        ]
    ),
    "latency_cells": pa.schema(
        [
            *_CELL_FIELDS,
            ("phase", pa.string()),
            *((name, pa.int64()) for name in _COUNTS),
            *((name, pa.float64()) for name in _LATENCIES),
        ]
    ),
    "measurements": pa.schema(
        [
            *_CELL_FIELDS,
            *((name, pa.int64()) for name in ("trials", "duplicated", "resent_parts", "connections")),
            ("slowest_recovery_ms", pa.float64()),
        ]
    ),
}


def derived(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return ``tables`` with those of :data:`SCHEMAS`, and with the verdicts that may be published in ``trials``."""
    needed = (
        "trials",
        "requirements",
        "judged",
        "judged_outcomes",
        "judged_consumption",
        "delivery",
        "consumption",
        "outcomes",
        "identities",
        "latency",
        "traffic",
        "recovery",
        "resent",
    )
    rows = {name: tables[name].to_pylist() for name in needed}
    found: dict[str, list[Row]] = {"disagreements": disagreements(rows)}
    doubted = {row["trial"] for row in found["disagreements"]}
    doubted |= {row["trial"] for row in rows["identities"] if row["differing"]}
    for name in ("trials", "requirements"):
        for row in rows[name]:
            if row["trial"] in doubted:
                row["verdict"] = Verdict.HARNESS_ERROR.value
    cells = {row["trial"]: tuple(row[name] for name in CELL) for row in rows["trials"]}
    resent = Counter(row["trial"] for row in rows["resent"])
    for row in rows["traffic"]:
        row["resent_parts"] = resent[row["trial"]]
    found["matrix"] = _matrix(rows["trials"], cells)
    found["coverage"] = _coverage(rows["requirements"], {trial: cell[-1] for trial, cell in cells.items()})
    found["latency_cells"] = _latency_cells(rows["latency"], cells)
    found["measurements"] = _measurements(rows, cells)
    made = {name: pa.Table.from_pylist(found[name], schema=schema) for name, schema in SCHEMAS.items()}
    published = {
        name: pa.Table.from_pylist(rows[name], schema=tables[name].schema)
        for name in ("trials", "requirements")
    }
    again = pa.array([row["resent_parts"] for row in rows["traffic"]], pa.int64())
    published["traffic"] = tables["traffic"].append_column("resent_parts", again)
    return {**tables, **published, **made}


def disagreements(rows: Rows) -> list[Row]:
    """Return ``trial, count, judged, recomputed`` where they differ. A trial missing on one side has None there."""
    counted = [row for row in rows["trials"] if row["counted"]]
    produced = sorted(row["trial"] for row in counted if row["workload"] != CONSUME)
    consumed = sorted(row["trial"] for row in counted if row["workload"] == CONSUME)
    outcomes = measured(rows["trials"], rows["judged_outcomes"])
    return [
        *_differing(produced, sorted(DELIVERY), rows["judged"], rows["delivery"]),
        *_differing(consumed, sorted(CONSUMPTION), rows["judged_consumption"], rows["consumption"]),
        *_differing(outcomes, sorted(OUTCOMES), rows["judged_outcomes"], rows["outcomes"]),
    ]


def measured(trials: Iterable[Row], judged: Iterable[Row]) -> list[str]:
    """Return the trials whose outcomes are compared. A verdict of an earlier version has too few of them."""
    whole = {row["trial"] for row in judged if row["requests"] is not None}
    return sorted(row["trial"] for row in trials if row["counted"] and row["trial"] in whole)


def _differing(
    trials: Iterable[str], counts: Sequence[str], judged: Iterable[Row], again: Iterable[Row]
) -> Iterator[Row]:
    sides = [{row["trial"]: row for row in side} for side in (judged, again)]
    for trial in trials:
        for count in counts:
            told = [side.get(trial, {}).get(count) for side in sides]
            if told[0] != told[1]:
                # True and false are shown as 1 and 0.
                ours, theirs = (None if value is None else int(value) for value in told)
                yield {"trial": trial, "count": count, "judged": ours, "recomputed": theirs}


def _matrix(trials: Iterable[Row], cells: Mapping[str, tuple[str, ...]]) -> list[Row]:
    """Return the worst verdict of each cell, and its trials by seed."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in trials:
        seed = {name: row[name] for name in ("seed", "verdict", "trial")}
        found.setdefault(cells[row["trial"]], []).append(seed)
    return [
        {
            **_named(cell),
            "verdict": worst(Verdict(each["verdict"]) for each in inside).value,
            "trials": sorted(inside, key=lambda each: (each["seed"], each["verdict"], each["trial"])),
        }
        for cell, inside in sorted(found.items())
    ]


def _coverage(requirements: Iterable[Row], clients: Mapping[str, str]) -> list[Row]:
    """Return in how many trials each requirement was judged, for each client and verdict."""
    trials, findings = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for row in requirements:
        key = (row["id"], row["level"], clients[row["trial"]], row["verdict"])
        trials[key] += 1
        findings[key] += row["findings"]
    names = ("id", "level", "client", "verdict")
    return [
        {**dict(zip(names, key, strict=True)), "trials": trials[key], "findings": findings[key]}
        for key in sorted(trials)
    ]


def _latency_cells(latency: Iterable[Row], cells: Mapping[str, tuple[str, ...]]) -> list[Row]:
    """Return the latencies of each cell and phase: the median over its trials; for the maximum, the greatest."""
    found: dict[tuple[tuple[str, ...], str], list[Row]] = {}
    for row in latency:
        found.setdefault((cells[row["trial"]], row["phase"]), []).append(row)
    return [
        {
            **_named(cell),
            "phase": phase,
            **{name: sum(row[name] for row in rows) for name in _COUNTS},
            **{name: _over(max if name == "max_ms" else median, rows, name) for name in _LATENCIES},
        }
        for (cell, phase), rows in sorted(found.items())
    ]


def _measurements(rows: Rows, cells: Mapping[str, tuple[str, ...]]) -> list[Row]:
    """Return sums over the trials of each cell, and the slowest recovery (None: no acknowledgement after a fault)."""
    delivery = {row["trial"]: row for row in rows["delivery"]}
    traffic = {row["trial"]: row for row in rows["traffic"]}
    recovered: dict[str, list[float]] = {}
    for row in rows["recovery"]:
        if row["recovered_ms"] is not None:
            recovered.setdefault(row["trial"], []).append(row["recovered_ms"])
    found: dict[tuple[str, ...], list[str]] = {}
    for trial, cell in cells.items():
        found.setdefault(cell, []).append(trial)
    return [
        {
            **_named(cell),
            "trials": len(trials),
            "duplicated": sum(delivery[trial]["duplicated"] for trial in trials if trial in delivery),
            "resent_parts": sum(traffic[trial]["resent_parts"] for trial in trials if trial in traffic),
            "connections": sum(traffic[trial]["connections"] for trial in trials if trial in traffic),
            "slowest_recovery_ms": max(
                (ms for trial in trials for ms in recovered.get(trial, ())), default=None
            ),
        }
        for cell, trials in sorted(found.items())
    ]


def _over(function: Any, rows: Iterable[Row], name: str) -> float | None:
    known = [row[name] for row in rows if row[name] is not None]
    return function(known) if known else None


def _named(cell: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(CELL, cell, strict=True))
