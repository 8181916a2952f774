"""The second judgement of a run: by Spark for new parts of its tables, from an earlier report for the others."""

from __future__ import annotations

from harness.storage.parquet_writer import Packed
from reports.earlier import Earlier
from reports.spark.analysis import STATED, Analysis, analysed, merged
from reports.spark.derived import derived
from reports.spark.session import Spark
from reports.stages import Stages


def second_judgement(tables: Packed, earlier: Earlier, spark: Spark, stages: Stages) -> Analysis:
    """Return the analysis of all packed trials. Spark is started only if there is something new to analyse.

    Raises EnvironmentProblem if Java or Spark cannot start.
    """
    old = earlier.parts(tables.parts)
    known = earlier.tables(STATED, old) if old else None
    new = [part for part in tables.parts if known is None or part not in old]
    found = [] if known is None else [known]
    if new:
        with spark.context() as context:
            stages.ended("session")
            found.append(merged([analysed(context, tables.folder.as_uri(), {part.folder for part in new})]))
        stages.ended("analysis")
    return Analysis(derived(merged(found)))
