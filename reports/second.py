"""The second judgement of a run: by Spark for new parts of its tables, from an earlier report for the others."""

from __future__ import annotations

from harness.storage.parquet_writer import Packed
from reports.earlier import Earlier
from reports.spark.analysis import STATED, Analysis, analysed, merged
from reports.spark.derived import derived
from reports.spark.session import spark_context
from reports.stages import Stages


def second_judgement(
    tables: Packed, earlier: Earlier, master: str | None = None, stages: Stages | None = None
) -> Analysis:
    """Return the analysis of all packed trials. Spark is started only if there is something new to analyse.

    Raises EnvironmentProblem if Java or Spark cannot start.
    """
    stages = stages or Stages()
    old = earlier.parts(tables.parts)
    known = earlier.tables(STATED, old) if old else None
    new = [part for part in tables.parts if known is None or part not in old]
    found = [] if known is None else [known]
    if new:
        with spark_context(master) as spark:
            stages.ended("session")
            found.append(merged([analysed(spark, tables.folder.as_uri(), {part.folder for part in new})]))
            stages.ended("analysis")
        stages.ended("closing")
    return Analysis(derived(merged(found)))
