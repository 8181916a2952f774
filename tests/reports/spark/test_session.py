"""Spark that fails: a task, a task's process, or its JVM. Each is one sentence, and an interrupt stays an interrupt."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark import SparkContext

from harness.cli.interrupts import Interrupted
from harness.model.errors import EnvironmentProblem
from harness.provision import class_data
from reports.spark.session import Spark, spark_context
from testkit.codes import raises_code

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _swept() -> Iterator[None]:
    """PySpark leaves sockets to the garbage collector. Collect them within the test that caused them."""
    yield
    gc.collect()


def _raises(_: int) -> int:
    raise ValueError("unknown outcome\nof a record")


def _dies(_: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def _signals(pid: int) -> None:
    os.kill(pid, signal.SIGUSR1)


def _jvms() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if each.name() == "java"]


def _end_jvm() -> None:
    gateway: Any = SparkContext._gateway
    gateway.proc.kill()
    gateway.proc.wait()


@pytest.mark.parametrize(
    ("task", "why"), [(_raises, "ValueError: unknown outcome"), (_dies, "Python worker exited unexpectedly")]
)
def test_a_failed_task_is_one_sentence(task: Callable[[int], int], why: str) -> None:
    with raises_code(EnvironmentProblem, "spark-failed") as caught, spark_context("local[1]") as spark:
        spark.parallelize([1], 1).map(task).collect()
    said = str(caught.value)
    assert said.startswith(f"Spark did not finish: {why}") and len(said.splitlines()) == 1


def test_a_jvm_that_was_killed_is_one_sentence(recwarn: pytest.WarningsRecorder) -> None:
    with raises_code(EnvironmentProblem, "spark-failed") as caught, spark_context("local[1]") as spark:
        _end_jvm()
        spark.parallelize([1], 1).map(abs).collect()
    assert str(caught.value) == "Spark did not finish: its JVM cannot be reached"
    assert not [each for each in recwarn if each.category is RuntimeWarning]


def test_an_interrupt_that_also_ended_the_jvm_stays_an_interrupt() -> None:
    """A signal to the whole group ends the JVM before this process can stop it."""
    with pytest.raises(Interrupted), spark_context("local[1]"):
        _end_jvm()
        raise Interrupted(signal.SIGTERM)
    with spark_context("local[1]") as spark:
        assert spark.parallelize([1], 1).collect() == [1]


def test_an_interrupt_within_a_job_stays_an_interrupt() -> None:
    """The answer of the JVM is never read, and PySpark's own cleanup takes it for that of its next call."""

    def interrupted(*_: object) -> None:
        raise Interrupted(signal.SIGTERM)

    before = signal.signal(signal.SIGUSR1, interrupted)
    try:
        with pytest.raises(Interrupted), spark_context("local[1]") as spark:
            me = os.getpid()
            spark.parallelize([1], 1).map(lambda _: _signals(me)).collect()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_start_in_the_background_that_nobody_waited_for_leaves_no_jvm() -> None:
    with pytest.raises(Interrupted), Spark("local[1]") as spark:
        spark.start()
        raise Interrupted(signal.SIGTERM)
    assert _jvms() == []


def test_a_spark_that_was_not_needed_never_starts() -> None:
    with Spark("local[1]"):
        pass
    assert _jvms() == []


def test_a_start_in_the_background_that_fails_is_reported_where_it_is_needed() -> None:
    with (
        raises_code(EnvironmentProblem, "spark-not-started") as caught,
        Spark("no-such-master") as spark,
    ):
        spark.start()
        with spark.context():
            pass
    assert len(str(caught.value).splitlines()) == 1
    assert _jvms() == []


def _has_mapped(archive: Path) -> bool:
    (jvm,) = _jvms()
    return str(archive) in {each.path for each in jvm.memory_maps()}


@pytest.mark.extended
def test_the_first_spark_that_worked_leaves_the_archive_of_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "cache" / "made.jsa"
    monkeypatch.setattr(class_data, "place_of", lambda *_: archive)
    with raises_code(EnvironmentProblem, "spark-failed"), spark_context("local[1]") as spark:
        spark.parallelize([1]).map(_raises).collect()
    assert not archive.exists()

    with spark_context("local[1]") as spark:
        assert spark.parallelize([1]).collect() == [1]
        assert not _has_mapped(archive)
    made = archive.stat().st_mtime_ns
    with spark_context("local[1]") as spark:
        assert spark.parallelize([1]).collect() == [1]
        assert _has_mapped(archive)
    assert archive.stat().st_mtime_ns == made


def test_spark_starts_despite_a_damaged_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "damaged archive.jsa"
    damaged.write_bytes(b"no classes at all")
    monkeypatch.setattr(class_data, "place_of", lambda *_: damaged)
    with spark_context("local[1]") as spark:
        assert spark.parallelize([1]).collect() == [1]
        assert not _has_mapped(damaged)
