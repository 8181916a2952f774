"""One quiet, local Spark session that ends with its block.

Spark is used only for ``DataFrame``s: no UI, no warehouse in the working folder, and no output on the terminal (its log
is in a scratch folder, and its last lines are quoted if it cannot start). The JVM has the owner's mark of
:mod:`harness.system.processes`, so that it is swept after a crash like any other child process.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from harness.model.errors import EnvironmentProblem
from harness.provision.java import find_java
from harness.storage.buckets import buckets_for
from harness.system.processes import owner_env, scratch_dir

LOCAL = "local[*]"


#: A small report is finished before a second compiler or a parallel collector would pay off.
SMALL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SMALL_PARTITIONS = 16

LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c: %m%n
"""


def settings(master: str, trials: int, scratch: Path) -> dict[str, str]:
    """Return the configuration of a session on ``master`` for this number of trials, with its files in ``scratch``.

    The number of partitions is set explicitly, since the size is known. Adaptive planning, with several jobs per query,
    would double the time of a small report.
    """
    address = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    partitions = buckets_for(trials)
    jvm = SMALL_JVM if partitions <= SMALL_PARTITIONS else ""
    return {
        "spark.app.name": "kafka-trial report",
        "spark.master": master,
        "spark.driver.bindAddress": address,
        "spark.driver.host": address,
        "spark.driver.extraJavaOptions": (
            f"-Djava.io.tmpdir={scratch} -Dlog4j2.configurationFile={scratch / 'log4j2.properties'} {jvm}"
        ),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.adaptive.enabled": "false",
        # Tables in buckets of ``trial`` are joined and grouped by it, and by more, where they are.
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        # Rows are cached for seconds only: compressing them would cost more than it saves.
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
        "spark.sql.legacy.bucketedTableScan.outputOrdering": "true",
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@contextmanager
def spark_session(master: str | None = None, trials: int = 1) -> Iterator[SparkSession]:
    """Yield a session on ``master`` (default: this machine's cores). It is stopped with its JVM at the block's end.

    ``trials`` is the expected amount of work. Raises EnvironmentProblem, with the last line of Spark's log, if it
    cannot start.
    """
    with TemporaryDirectory(dir=scratch_dir(), prefix="spark-") as folder, _quiet_py4j():
        scratch = Path(folder)
        (scratch / "log4j2.properties").write_text(LOG4J)
        log = scratch / "spark.log"
        gateway: Any = None
        try:
            gateway, session = _start(settings(master or LOCAL, trials, scratch), log)
        except (PySparkException, Py4JError, OSError) as error:
            raise EnvironmentProblem(
                "spark-not-started", "Spark cannot start: {why}", why=_last_line(log) or error
            ) from error
        try:
            yield session
        finally:
            _stop(gateway, session)


def _start(conf: Mapping[str, str], log: Path) -> tuple[Any, SparkSession]:
    spark_conf = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    java = find_java()
    added = {**owner_env(), "SPARK_LOCAL_IP": conf["spark.driver.host"], "JAVA_HOME": str(java.home)}
    with log.open("wb") as sink, _environment(added):
        gateway = launch_gateway(spark_conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
    try:
        # In the main thread PySpark installs its own handler for Ctrl-C, and then calls the JVM on a connection that is
        # waiting for a response already. Without the handler, py4j closes that connection and an orderly end is
        # possible.
        with ThreadPoolExecutor(1) as thread:
            started = thread.submit(lambda: SparkSession(SparkContext(gateway=gateway, conf=spark_conf)))
            return gateway, started.result()
    except BaseException:
        _end_jvm(gateway)
        raise


def _stop(gateway: Any, session: SparkSession) -> None:
    try:
        session.stop()
    finally:
        _end_jvm(gateway)


def _end_jvm(gateway: Any) -> None:
    gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM ends when its stdin does
    gateway.proc.wait()
    SparkContext._gateway = None
    SparkContext._jvm = None


@contextmanager
def _quiet_py4j() -> Iterator[None]:
    """Silence py4j's logs of an interrupt, partly by the root logger. Its errors are raised as exceptions anyway."""

    def another(record: logging.LogRecord) -> bool:
        return "while sending command" not in record.getMessage()

    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    level = py4j.level
    root.addFilter(another)
    py4j.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        py4j.setLevel(level)
        root.removeFilter(another)


@contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    """Add variables to this process's environment while a child is being started."""
    before = dict(os.environ)
    os.environ.update(added)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _last_line(log: Path) -> str:
    """Return the last line of Spark's log, without stack traces."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    said = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
    return next(reversed(said), "")
