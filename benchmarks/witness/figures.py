"""The summary of many rounds: medians, ratios to the bare relay of the same round, and the cost of each stage."""

from __future__ import annotations

from statistics import median, quantiles
from typing import Any

from benchmarks.witness.paths import PATHS
from benchmarks.witness.rounds import Measured
from benchmarks.witness.stages import STAGES

BARE = "bare relay"


def summed_up(measured: Measured) -> dict[str, Any]:
    """Return all printed figures by name."""
    names = measured.frame_bytes
    return {
        "frame_bytes": names,
        "paths": {path: _path(measured, path) for path in PATHS},
        "stages_cpu_us_per_round_trip": {name: _stages(measured, name) for name in names},
        "bare_relay_cpu_us_per_round_trip": {
            name: round(min(measured.cpu_us[BARE, name]), 1) for name in names
        },
    }


def _path(measured: Measured, path: str) -> dict[str, float]:
    rates = measured.bytes_per_s
    row: dict[str, float] = {
        "MB/s": round(median(rates[path]) / 1e6),
        "MB/s, ratio": _ratio(rates[path], rates[BARE]),
    }
    for name in measured.frame_bytes:
        trips, bare = measured.trips_ns[path, name], measured.trips_ns[BARE, name]
        middles, bare_middles = ([median(taken) for taken in rounds] for rounds in (trips, bare))
        row[f"{name}, p50, us"] = round(median(middles) / 1e3, 1)
        row[f"{name}, p50, ratio"] = _ratio(middles, bare_middles)
        row[f"{name}, p99, us"] = round(_p99(trips) / 1e3, 1)
        row[f"{name}, p99, ratio"] = round(_p99(trips) / _p99(bare), 2)
    return row


def _ratio(values: list[float], bare: list[float]) -> float:
    return round(median(one / other for one, other in zip(values, bare, strict=True)), 2)


def _p99(rounds: list[list[int]]) -> float:
    return quantiles([taken for each in rounds for taken in each], n=100)[98]


def _stages(measured: Measured, name: str) -> dict[str, float]:
    """Return the cost that each stage adds to the stages before it."""
    added, before_us = {}, 0.0
    for stage, kind in zip(STAGES, (*STAGES[:-1], "witness"), strict=True):
        total_us = min(measured.cpu_us[kind, name])
        added[stage] = round(total_us - before_us, 1)
        before_us = total_us
    return added
