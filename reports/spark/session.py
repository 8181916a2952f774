"""One quiet, local Spark. It starts and ends in the background, next to work that does not need it.

It has no UI, writes nothing in the working folder and nothing on the terminal (its log is in a scratch folder, and its
last line is quoted if it cannot start). Its JVM only hands out tasks, so it is small. The tasks run in processes of
this Python. JVM and processes have the owner's mark of :mod:`harness.system.processes`, so that they are swept after a
crash like any other child process.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

from harness.model.errors import EnvironmentProblem
from harness.provision import class_data
from harness.provision.java import Java, find_java
from harness.system.processes import owner_env, scratch_dir

LOCAL = "local[*]"
LOG = "spark.log"
MADE = "classes.jsa"

#: The JVM is finished before a second compiler or a parallel collector would pay off.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms64m"
#: The least heap with which Spark starts, in MiB, and some room.
HEAP_MB = 512

#: What the processes of tasks need: this Python, nothing imported from the working folder, one thread per task, and
#: memory that is free again after each table.
TASKS = {
    "PYSPARK_PYTHON": sys.executable,
    "PYTHONSAFEPATH": "1",
    "POLARS_MAX_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}

LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c: %m%n
"""


def settings(master: str, scratch: Path, options: str = JVM) -> dict[str, str]:
    """Return the configuration of Spark on ``master``, with its files in ``scratch``. ``options``: those of its JVM."""
    address = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    return {
        "spark.app.name": "kafka-trial report",
        "spark.master": master,
        "spark.driver.bindAddress": address,
        "spark.driver.host": address,
        "spark.driver.memory": f"{HEAP_MB}m",
        "spark.driver.extraJavaOptions": (
            f"-Djava.io.tmpdir={scratch} -Dlog4j2.configurationFile={scratch / 'log4j2.properties'} {options}"
        ),
        "spark.local.dir": str(scratch / "local"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


class Spark:
    """A Spark on ``master`` (default: this machine's cores) that may start, and is gone at the end of its block."""

    def __init__(self, master: str | None = None) -> None:
        self._master = master or LOCAL
        self._stack = ExitStack()
        self._started: Future[_Started] | None = None
        self._is_closing = self._has_worked = False

    def __enter__(self) -> Spark:
        with ExitStack() as stack:
            stack.enter_context(_quiet_py4j())
            folder = stack.enter_context(TemporaryDirectory(dir=scratch_dir(), prefix="spark-"))
            self._scratch = Path(folder)
            # In the main thread PySpark installs its own handler for Ctrl-C, and then calls the JVM on a connection
            # that is waiting for a response already. Without the handler, py4j closes that connection and an orderly
            # end is possible.
            self._thread = stack.enter_context(ThreadPoolExecutor(1))
            stack.callback(self.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> None:
        """Begin to start it."""
        if self._started is None:
            self._started = self._thread.submit(_start, self._master, self._scratch)

    def close(self) -> None:
        """Begin to end it. It cannot start again."""
        if self._started is not None and not self._is_closing:
            self._is_closing = True
            self._thread.submit(_stop, self._started, is_kept=self._has_worked)

    @contextmanager
    def context(self) -> Iterator[SparkContext]:
        """Yield Spark as soon as it has started, and begin to end it at the end of the block.

        Raises EnvironmentProblem, with Spark's own reason, if it cannot start, if a task fails, or if its JVM ends
        early.
        """
        self.start()
        assert self._started is not None
        try:
            context = self._started.result().context
        except (PySparkException, Py4JError, OSError) as error:
            why = _last_line(self._scratch / LOG) or error
            raise EnvironmentProblem("spark-not-started", "Spark cannot start: {why}", why=why) from error
        try:
            yield context
            self._has_worked = True
        except Exception as error:
            if (interrupt := _interrupt_behind(error)) is not None:
                raise interrupt from None
            if not isinstance(error, PySparkException | Py4JError | ConnectionError | EOFError):
                raise
            why = _reason(error)
            raise EnvironmentProblem("spark-failed", "Spark did not finish: {why}", why=why) from error
        finally:
            self.close()


@contextmanager
def spark_context(master: str | None = None) -> Iterator[SparkContext]:
    """Yield Spark on ``master`` for the block. Errors are those of :meth:`Spark.context`."""
    with Spark(master) as spark, spark.context() as context:
        yield context


class _Started(NamedTuple):
    """A running Spark. At its end its JVM leaves an archive of its classes at ``made``, for ``place``, or none."""

    gateway: Any
    context: SparkContext
    made: Path | None
    place: Path


def _start(master: str, scratch: Path) -> _Started:
    (scratch / "log4j2.properties").write_text(LOG4J)
    java = find_java()
    place = _class_data(java)
    made = None if place.exists() else scratch / MADE
    option = class_data.leaving(made) if made else class_data.using(place)
    conf = settings(master, scratch, f'{JVM} "{option}"')
    spark_conf = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    address = conf["spark.driver.host"]
    added = {**owner_env(), **TASKS, "SPARK_LOCAL_IP": address, "JAVA_HOME": str(java.home)}
    with (scratch / LOG).open("wb") as sink, _environment(added):
        gateway = launch_gateway(spark_conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
        try:
            context = SparkContext(gateway=gateway, conf=spark_conf)
            # The processes of its tasks start with the first job. What they import, they import when they need it,
            # because its memory would be taken next to that of the packing processes.
            context.parallelize(range(context.defaultParallelism)).count()
            return _Started(gateway, context, made, place)
        except BaseException:
            _end_jvm(gateway)
            raise


def _stop(started: Future[_Started], *, is_kept: bool) -> None:
    """End what Spark has in this process, and then the JVM, which stops Spark in its own shutdown.

    With ``is_kept``, all classes that a report needs were used, so the archive that the JVM leaves is kept.

    The JVM is not asked to stop Spark. A signal may have ended it, or may have left its connection in the middle of a
    response, which would be taken for the answer.
    """
    if started.exception() is not None:
        return
    gateway, context, made, place = started.result()
    try:
        context._jsc = None
        context.stop()
    finally:
        _end_jvm(gateway)
    if is_kept and made is not None and made.exists():
        class_data.keep(made, place)


def _class_data(java: Java) -> Path:
    """Return the place of the archive of Spark's classes, existing or not."""
    jars = sorted((Path(_find_spark_home()) / "jars").glob("*.jar"))  # type: ignore[no-untyped-call]
    command = (str(java.path), *JVM.split(), os.pathsep.join(map(str, jars)))
    return class_data.place_of(f"spark-{pyspark.__version__}", command)


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
    """Add variables to this process's environment while a child is being started. Other threads may read it."""
    before = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _interrupt_behind(error: BaseException | None) -> BaseException | None:
    """Return the interrupt that PySpark hid: its cleanup calls the JVM on the connection that was interrupted."""
    while isinstance(error, Exception):
        error = error.__context__
    return error


def _reason(error: Exception) -> str:
    """Return why a job failed, in one line: the exception of the task, if the JVM still says which it was."""
    if not isinstance(error, Py4JJavaError):
        return "its JVM cannot be reached"
    thrown = error.java_exception
    lines = str((thrown.getCause() or thrown).getMessage()).splitlines()
    # Of a traceback of Python, only the line with the exception is neither its title nor indented.
    said = (line for line in lines if line.strip() and not line.startswith((" ", "\t", "Traceback ")))
    return next(said, "a task failed")


def _last_line(log: Path) -> str:
    """Return the last line of Spark's log, without stack traces."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    said = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
    return next(reversed(said), "")
