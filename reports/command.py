"""``kafka-trial report``: pack a run, recompute its delivery with PySpark, and write its report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness import storage
from harness.cli.console import say
from harness.cli.examples import examples
from harness.cli.options import DEFAULT_OUT, AsJson, RunFolder
from harness.cli.output import print_json
from harness.cli.results import nothing_finished
from harness.plugins import registry
from harness.storage.run_store import RunStore
from harness.system import extras
from harness.system.workers import prepare_processes, workers
from reports.place import report_place
from reports.stages import Stages

if TYPE_CHECKING:
    from reports.pages.rendering import Texts
    from reports.spark.analysis import Row

EXTRA = "report"

#: A pool of processes costs more than it saves for fewer trials.
TRIALS_FOR_PROCESSES = 64
MOST_PROCESSES = 4
#: The modules that all of them import, once. Their names are relative, because the wheel has all packages in one.
PRELOADED = (f"{__package__}.pages.writing", f"{storage.__name__}.parquet_writer")


@dataclass(frozen=True)
class ReportResult:
    """The report's first page, and whether PySpark's judgement of delivery agrees with the online checks."""

    path: Path
    trials: int
    disagreements: list[Row]
    sentence: str
    identities: int = 0
    #: Anomalies that only one judgement found, and duplicates that only one explains: the first of each trial.
    strays: Sequence[Row] = ()
    contested: Sequence[Row] = ()
    #: Trials that become harness-errors, with the reason.
    spoiled: Mapping[str, str] = field(default_factory=dict)
    #: How long each stage took, in seconds.
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def agreed(self) -> bool:
        """False makes the run a harness error."""
        return not self.disagreements and not self.strays


def build_report(run: Path, master: str | None = None, out: Path | None = None) -> ReportResult:
    """Pack ``run``, analyse it on ``master`` (default: local) and write the report to ``out`` (default: in the run).

    Raises UsageError if ``run`` is not a run or ``out`` contains anything but a report, NothingSelected if no trial is
    finished, and EnvironmentProblem if the extra ``report`` is missing, Java or Spark cannot start, or the report
    cannot be written.
    """
    with extras.needed(EXTRA, "report"):
        from harness.storage.parquet_writer import packed

    store = RunStore.open(run.resolve())
    finished = sum(store.finished(spec.trial) for spec in store.record.plan.trials)
    if not finished:
        raise nothing_finished(store)
    stages, count = Stages(), processes_for(finished)
    processes = partial(workers, count, PRELOADED)
    if count > 1:
        prepare_processes(PRELOADED)
    # Worker processes import what they need at the same time.
    with extras.needed(EXTRA, "report"):
        from reports.doubts import contested, strays
        from reports.earlier import Earlier
        from reports.pages.site import agreement_sentence, fill
        from reports.second import second_judgement
        from reports.spark.session import Spark

    # The place is checked first, so that an unwritable one is reported before the long computation.
    with report_place(store, out) as place, Spark(master) as spark:
        earlier = Earlier(place)
        with ExitStack() as packing:
            # Its processes end with it, so they need no memory beside Spark's.
            with processes() as work:
                tables = packing.enter_context(
                    packed(store, registry.table("anomalies"), work, begun=spark.start)
                )
            stages.ended("packing")
            analysis = second_judgement(tables, earlier, spark, stages)
        with processes() as work:
            path = fill(place, store, analysis, _texts(), tables, earlier, work)
        stages.ended("pages")
    stages.ended("closing")
    return ReportResult(
        path,
        analysis.compared,
        analysis.rows("disagreements"),
        agreement_sentence(analysis),
        analysis.compared_identities,
        strays(analysis),
        contested(analysis),
        tables.spoiled,
        stages.seconds,
    )


EXAMPLES = examples(
    "kafka-trial report",
    "kafka-trial report runs/latest --out report --json",
)


def register(app: typer.Typer) -> None:
    """Add the command (entry-point group ``kafka_trial.commands``)."""
    app.command("report", epilog=EXAMPLES)(report)


def report(
    run: RunFolder = DEFAULT_OUT,
    master: Annotated[str | None, typer.Option("--master", help="Spark's master; default local[*].")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write; default RUN/report.")] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing on stderr but errors.")] = False,
) -> int:
    """Recompute delivery with PySpark and write the report; exit 3 if the two judgements disagree.

    A trial whose evidence cannot be read is a harness-error, which also results in exit 3.
    """
    result = build_report(run, master, out)
    if not quiet or not result.agreed:
        say(result.sentence)
    for trial, why in result.spoiled.items():
        say(f"harness-error: {trial}: {why}")
    if not quiet:
        say(f"report: {result.path}")
    if as_json:
        print_json(document(result))
    return 0 if result.agreed and not result.spoiled else 3


def processes_for(trials: int) -> int:
    """Return the number of processes that pack this number of trials and write their pages."""
    return min(os.cpu_count() or 1, MOST_PROCESSES) if trials >= TRIALS_FOR_PROCESSES else 1


def document(result: ReportResult) -> dict[str, Any]:
    """Return the document that ``--json`` prints."""
    agreement = {
        "trials": result.trials,
        "identities": result.identities,
        "disagreements": result.disagreements,
        "identity_disagreements": result.strays,
        "explanation_disagreements": result.contested,
    }
    return {"report": str(result.path), "agreement": agreement, "seconds": dict(result.seconds)}


def _texts() -> Texts:
    from reports.pages.rendering import Texts

    requirements: dict[str, list[str]] = {}
    for check in registry.checks().values():
        for requirement in check.requirements:
            requirements.setdefault(requirement.id, []).append(f"{check.name}: {check.summary}")
    checks = {check.name: check.summary for check in registry.checks().values()}
    scenarios = {name: scenario.summary for name, scenario in registry.table("scenarios").items()}
    return Texts({id_: " ".join(sentences) for id_, sentences in requirements.items()}, checks, scenarios)
