"""The options that ``run`` and ``campaign`` share, each declared once, and what they come to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import psutil
import typer

from harness.errors import UsageError
from harness.units import duration_s

DEFAULT_OUT = Path("runs")
AUTO = "auto"
MAX_JOBS = 32
MAX_SEED = 2**62
#: A trial waits most of its time: about so many keep one core busy (`kafka-trial run 'produce/*' --seeds 4 -j 16`
#: on 2 cores: 64 trials in 62 s of 86 % of both).
JOBS_A_CORE = 8
#: What a trial may need: a JVM is the largest client.
BYTES_A_JOB = 400 * 2**20

Jobs = Annotated[
    str, typer.Option("-j", "--jobs", help=f"Trials at a time, 1 to {MAX_JOBS}; auto fits the machine.")
]
OutDir = Annotated[Path, typer.Option(help="Where runs are kept.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the plan, its count and an estimate, and stop.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Capture = Annotated[bool, typer.Option("--capture", help="Also capture each trial's packets, where allowed.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")]
MaxTime = Annotated[
    str | None, typer.Option(metavar="DURATION", help="Begin no trial after so long (90s, 10m, 1h30m).")
]
MaxFailures = Annotated[
    int | None, typer.Option(min=1, help="Begin no trial after so many verdicts fail; -x is 1.")
]
FailFast = Annotated[bool, typer.Option("-x", "--fail-fast", help="Stop at the first verdict fail.")]
Shard = Annotated[str | None, typer.Option(metavar="K/N", help="Only the K-th of N equal parts of the plan.")]
Repeat = Annotated[int, typer.Option(min=1, max=1_000, help="Every trial so many times.")]
Deflake = Annotated[
    int, typer.Option(min=1, max=1_000, help="Try what failed until it was tried so often, to say k of n.")
]
Baseline = Annotated[
    str | None, typer.Option(metavar="FILE|known", help="Known failures: those are expected to fail.")
]
JUnit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML here as well.")]
Summary = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the Markdown summary here as well.")
]


@dataclass(frozen=True)
class Options:
    """How a plan is to be carried out, whoever made it. ``partial`` True: a budget that is used up is no lack."""

    jobs: int
    out_dir: Path = DEFAULT_OUT
    dry_run: bool = False
    as_json: bool = False
    quiet: bool = False
    capture: bool = False
    max_time_s: float | None = None
    max_failures: int | None = None
    shard: tuple[int, int] | None = None
    repeat: int = 1
    deflake: int = 1
    baseline: str | None = None
    junit: Path | None = None
    summary: Path | None = None
    partial: bool = False


def jobs_of(text: str) -> int:
    """How many trials at a time ``-j`` asks for. UsageError for what is no such number."""
    if text == AUTO:
        return auto_jobs(len(os.sched_getaffinity(0)), psutil.virtual_memory().available)
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= MAX_JOBS:
        raise UsageError(f"-j takes a number from 1 to {MAX_JOBS}, or {AUTO}; not {text!r}")
    return int(text)


def auto_jobs(cores: int, memory_bytes: int) -> int:
    """As many trials at a time as cores and free memory carry, at least one. Pure."""
    return max(1, min(MAX_JOBS, cores * JOBS_A_CORE, memory_bytes // BYTES_A_JOB))


def max_time_of(text: str | None) -> float | None:
    """Seconds of ``--max-time``."""
    return None if text is None else duration_s(text)


def shard_of(text: str | None) -> tuple[int, int] | None:
    """(k, n) of ``--shard k/n``. UsageError for what is no part."""
    if text is None:
        return None
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise UsageError(f"--shard takes K/N with K from 1 to N, such as 1/3; not {text!r}")
    return int(number), int(of)
