"""Class data archives: one per JVM and set of jars, shared by all nodes, and optional."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import pytest

from harness.brokers.local import LOCAL
from harness.provision import class_data
from testkit.children import children


@pytest.fixture
def java(tmp_path):
    """Return the command of a JVM with two jars."""
    launcher, jars = tmp_path / "java", [tmp_path / "a.jar", tmp_path / "b.jar"]
    for file in (launcher, *jars):
        file.write_bytes(b"x")
        os.utime(file, ns=(1, 1))
    return (str(launcher), "-Xmx512m", "-cp", os.pathsep.join(map(str, jars)))


def test_the_same_jvm_options_and_jars_share_an_archive(java, monkeypatch, tmp_path):
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))
    place = class_data.place_of("4.3.1", java)
    assert place == class_data.place_of("4.3.1", java)
    assert place.is_relative_to(tmp_path / "cache")


@pytest.mark.parametrize("changed", ["launcher", "option", "time of a jar", "size of a jar", "version"])
def test_each_change_that_a_jvm_would_refuse_has_its_own_archive(java, changed):
    before, version = class_data.place_of("4.3.1", java), "4.3.1"
    match changed:
        case "launcher":
            os.utime(java[0], ns=(2, 2))
        case "option":
            java = (java[0], "-Xmx256m", *java[2:])
        case "time of a jar":
            os.utime(Path(java[0]).with_name("b.jar"), ns=(2, 2))
        case "size of a jar":
            Path(java[0]).with_name("b.jar").write_bytes(b"xy")
            os.utime(Path(java[0]).with_name("b.jar"), ns=(1, 1))
        case _:
            version = "3.9.2"
    assert class_data.place_of(version, java) != before


def test_an_archive_is_kept_atomically(tmp_path, caplog):
    made, place = tmp_path / "made", tmp_path / "cache" / "kept.jsa"
    made.write_bytes(b"classes")
    assert class_data.keep(made, place)
    assert place.read_bytes() == b"classes"
    assert list(place.parent.iterdir()) == [place]

    with caplog.at_level(logging.WARNING):
        assert not class_data.keep(tmp_path / "none", place.with_name("other.jsa"))
    assert "JVMs start more slowly" in caplog.text
    assert list(place.parent.iterdir()) == [place]


def mapped(archive):
    """Return whether each of our brokers has mapped the archive."""
    return [str(archive) in {each.path for each in node.memory_maps()} for node in children("kafka.Kafka")]


async def started(log_dir, archive):
    async with LOCAL.cluster("4.3.1x1", lanes=1, log_dir=log_dir) as cluster:
        await cluster.create_topic("t", 1)
        assert await cluster.partitions("t") == [0]
        return mapped(archive)


@pytest.mark.jvm
@pytest.mark.extended
def test_the_first_cluster_makes_the_archive_of_later_ones(tmp_path, monkeypatch):
    archive = tmp_path / "cache" / "made.jsa"
    # The default place depends on the cache, which also has the jars that the brokers need.
    monkeypatch.setattr(class_data, "place_of", lambda *_: archive)
    assert asyncio.run(started(tmp_path / "logs", archive)) == [True]

    made = archive.stat()
    assert asyncio.run(started(tmp_path / "logs", archive)) == [True]
    assert archive.stat() == made


@pytest.mark.jvm
def test_a_broker_starts_despite_a_damaged_archive(tmp_path, monkeypatch):
    spoilt = tmp_path / "spoilt.jsa"
    spoilt.write_bytes(b"no classes at all")
    # The default place depends on the cache, which also has the jars that the brokers need.
    monkeypatch.setattr(class_data, "place_of", lambda *_: spoilt)
    assert asyncio.run(started(tmp_path / "logs", spoilt)) == [False]
