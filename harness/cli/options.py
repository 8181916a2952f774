"""The options that several commands share, each declared once, and their parsed values.

:class:`Given` holds the options of commands that run trials. :class:`GivenPlan` adds those that only ``run`` and
``campaign`` have. :func:`with_given` adds all of them to a command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from harness import exports
from harness.cli import completion
from harness.model.errors import UsageError
from harness.model.units import duration_s
from harness.model.verdicts import Level
from harness.outcomes.thresholds import parsed
from harness.system import needs
from harness.system.machine import this_machine
from harness.system.needs import MAX_JOBS

DEFAULT_OUT = Path("runs")
AUTO = "auto"

Jobs = Annotated[
    str,
    typer.Option(
        "-j",
        "--jobs",
        metavar="N|auto",
        help=f"Trials at a time, 1 to {MAX_JOBS}; auto: as many as fit the machine.",
    ),
]
OutDir = Annotated[Path, typer.Option(help="The folder for runs.")]
RunFolder = Annotated[Path, typer.Argument(help="A run's folder, or a folder of runs (its latest).")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only print the plan, its size and an estimate.")]


class Form(StrEnum):
    """The output format."""

    TEXT = "text"
    MD = "md"
    JSON = "json"


InForm = Annotated[Form, typer.Option("--format", help="For a terminal, a pull request, or a program.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Capture = Annotated[bool, typer.Option("--capture", help="Also capture each trial's packets, where allowed.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Do not show progress.")]
MaxTime = Annotated[
    str | None, typer.Option(metavar="DURATION", help="Start no trial after this time (90s, 10m, 1h30m).")
]
MaxFailures = Annotated[
    int | None, typer.Option(min=1, help="Start no trial after this many fail verdicts; -x is 1.")
]
FailFast = Annotated[bool, typer.Option("-x", "--fail-fast", help="Stop at the first fail verdict.")]
Shard = Annotated[str | None, typer.Option(metavar="K/N", help="Only the K-th of N equal parts of the plan.")]
Repeat = Annotated[int, typer.Option(min=1, max=1_000, help="The number of times to run each trial.")]
Deflake = Annotated[
    int,
    typer.Option(
        min=1, max=1_000, help="Run failed trials again, up to this many attempts, and report k of n."
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(metavar="FILE|known", help="The list of known failures, which are expected to fail."),
]
Load = Annotated[
    list[str] | None,
    typer.Option(
        "--load",
        metavar="KEY=VALUE,...",
        autocompletion=completion.loads,
        help="What clients send: records, size, rate, burst, duration, keys, skew, partitions, topics, producers, "
        "payloads; such as records=100000,size=20..20000,rate=5000,burst=1000/1s; repeatable.",
    ),
]
AllowCommand = Annotated[
    bool,
    typer.Option("--allow-command", help="Run the client commands in a stored plan."),
]
ClientEnv = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Also pass this environment variable to clients; repeatable."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "-X",
        "--setting",
        metavar="KEY=VALUE",
        autocompletion=completion.settings,
        help="A setting of the client, by its Java name, or CLIENT:KEY=VALUE for a client's own; repeatable.",
    ),
]


class Counted(StrEnum):
    """Which findings count in verdicts: those that break a MUST, or also differences."""

    MUST = "must"
    SHOULD = "should"


LevelOption = Annotated[
    Counted,
    typer.Option(
        "--level", help="Which findings count; with must, differences are listed and change no verdict."
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if a client differs, as for a failure.")]
Threshold = Annotated[
    list[str] | None,
    typer.Option(
        metavar="'METRIC < VALUE'",
        autocompletion=completion.outcomes,
        help="Exit with 1 if an outcome misses this, such as 'given_up < 0.1%' or 'recovery_p95 < 5s'; repeatable.",
    ),
]
JUnit = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML to this file.")]
Summary = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write the Markdown summary to this file.")
]


@dataclass(frozen=True)
class Options:
    """How to run a plan, from any command. With ``partial``, an exhausted budget does not affect the exit code."""

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
    strict: bool = False
    client_env: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()
    level: Level = Level.SHOULD

    @property
    def of_the_plan(self) -> Mapping[str, bool]:
        """Option -> whether it was given; those that ask for other trials, evidence or verdicts than a run has."""
        return {
            "--dry-run": self.dry_run,
            "--capture": self.capture,
            "--shard": self.shard is not None,
            "--repeat": self.repeat > 1,
            "--deflake": self.deflake > 1,
            "--baseline": bool(self.baseline),
            "--threshold": bool(self.thresholds),
            "--level": self.level != Level.SHOULD,
        }


@dataclass(frozen=True)
class Given:
    """How to run trials, as typed on the command line."""

    setting: Settings = None
    load: Load = None
    jobs: Jobs = AUTO
    max_time: MaxTime = None
    out_dir: OutDir = DEFAULT_OUT
    as_json: AsJson = False
    quiet: Quiet = False
    client_env: ClientEnv = None

    def options(self) -> Options:
        """Return the parsed options. Raise UsageError for invalid values."""
        return Options(
            jobs_of(self.jobs or AUTO),
            self.out_dir,
            as_json=self.as_json,
            quiet=self.quiet,
            max_time_s=max_time_of(self.max_time),
            client_env=tuple(self.client_env or ()),
        )


@dataclass(frozen=True)
class GivenPlan(Given):
    """How to run a plan, as typed on the command line."""

    jobs: Jobs = ""
    max_failures: MaxFailures = None
    fail_fast: FailFast = False
    shard: Shard = None
    repeat: Repeat = 1
    deflake: Deflake = 1
    baseline: Baseline = None
    junit: JUnit = None
    summary: Summary = None
    dry_run: DryRun = False
    capture: Capture = False
    strict: Strict = False
    level: LevelOption = Counted.SHOULD
    threshold: Threshold = None

    def options(
        self,
        *,
        jobs: int | None = None,
        max_time_s: float | None = None,
        max_failures: int | None = None,
        partial: bool = False,
        thresholds: Sequence[str] = (),
        baseline: str | None = None,
    ) -> Options:
        """Return the parsed options; the arguments are defaults for what was not typed.

        Raise UsageError for invalid values.
        """
        exports.must_be_files(self.junit, self.summary)
        typed = super().options()
        return replace(
            typed,
            jobs=typed.jobs if self.jobs or jobs is None else jobs,
            max_time_s=max_time_s if typed.max_time_s is None else typed.max_time_s,
            max_failures=1 if self.fail_fast else self.max_failures or max_failures,
            dry_run=self.dry_run,
            capture=self.capture,
            shard=shard_of(self.shard),
            repeat=self.repeat,
            deflake=self.deflake,
            baseline=self.baseline or baseline,
            junit=self.junit,
            summary=self.summary,
            partial=partial,
            strict=self.strict,
            level=Level(self.level.upper()),
            thresholds=tuple(each.text for each in map(parsed, (*thresholds, *(self.threshold or ())))),
        )


def with_given(command: Callable[..., int], kind: type[Given] = Given) -> Callable[..., int]:
    """Return ``command`` with the options of ``kind`` in place of its last parameter, ``given``."""
    own = [each for each in signature(command, eval_str=True).parameters.values() if each.name != "given"]
    shared = list(signature(kind, eval_str=True).parameters.values())

    def called(**values: Any) -> int:
        given = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        return command(**values, given=given)

    parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own, *shared)]
    called.__signature__ = Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": int}
    called.__doc__ = command.__doc__
    return called


def jobs_of(text: str) -> int:
    """Return the number of trials at a time for ``-j``. Raise UsageError if it is not valid."""
    if text == AUTO:
        return needs.shared_lanes(this_machine(), needs.kraft(1))
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= MAX_JOBS:
        raise UsageError(
            "jobs-value",
            "-j takes a number from 1 to {max_jobs}, or {auto}; not {text!r}",
            max_jobs=MAX_JOBS,
            auto=AUTO,
            text=text,
        )
    return int(text)


def processes_of(text: str) -> int:
    """Return the number of processes for ``-j`` of a command that needs no broker: auto is one per core."""
    return min(MAX_JOBS, os.cpu_count() or 1) if text == AUTO else jobs_of(text)


def max_time_of(text: str | None) -> float | None:
    """Return the seconds of ``--max-time``."""
    return None if text is None else duration_s(text)


def shard_of(text: str | None) -> tuple[int, int] | None:
    """Return (k, n) of ``--shard k/n``. Raise UsageError if it is not valid."""
    if text is None:
        return None
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise UsageError(
            "shard-value", "--shard takes K/N with K from 1 to N, such as 1/3; not {text!r}", text=text
        )
    return int(number), int(of)
