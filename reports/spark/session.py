"""One Spark session, quiet and local, that ends with its block.

Spark is asked for nothing but ``DataFrame``s: no UI, no warehouse in the working folder, no word on the
terminal (its log lies in a scratch folder, and its last lines are quoted when it cannot start). The JVM carries
the owner's mark of :mod:`harness.system.processes`, so that it is swept after a crash like anything else we start.
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
from harness.system.processes import owner_env, scratch_dir

LOCAL = "local[*]"

#: How many trials one task of a shuffle takes: enough to be worth a task, few enough for its memory.
TRIALS_PER_PARTITION = 16

#: A small report is over before a second compiler or a parallel collector would have paid for itself.
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
    """The configuration of a session on ``master`` for so many trials, with its files in ``scratch``.

    The number of partitions is ours to say since we know the size: planning each query adaptively, in several
    jobs, costs a small report twice its time.
    """
    address = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    partitions = max(2, trials // TRIALS_PER_PARTITION)
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
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@contextmanager
def spark_session(master: str | None = None, trials: int = 1) -> Iterator[SparkSession]:
    """A session on ``master`` (default: this machine's cores), stopped with its JVM at the end of the block.

    ``trials`` says how much work to expect. Raises EnvironmentProblem where Spark cannot start, with the last line
    that it logged.
    """
    with TemporaryDirectory(dir=scratch_dir(), prefix="spark-") as folder, _quiet_py4j():
        scratch = Path(folder)
        (scratch / "log4j2.properties").write_text(LOG4J)
        log = scratch / "spark.log"
        gateway: Any = None
        try:
            gateway, session = _start(settings(master or LOCAL, trials, scratch), log)
        except (PySparkException, Py4JError, OSError) as error:
            raise EnvironmentProblem(f"Spark cannot start: {_last_line(log) or error}") from error
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
        # In the main thread PySpark would put itself in charge of Ctrl-C, and then call the JVM on a connection
        # that waits for an answer already. Left alone, py4j closes that connection and a polite end is possible.
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
    """Py4j logs a traceback of an interrupt, partly as the root logger; its errors come as exceptions anyway."""

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
    """``added`` to this process's environment while a child is being started."""
    before = dict(os.environ)
    os.environ.update(added)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _last_line(log: Path) -> str:
    """What Spark said last, its stack traces left out."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    said = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
    return next(reversed(said), "")
