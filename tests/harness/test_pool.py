"""Jobs wait in line for a lane; what dies is replaced; what was left is told."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from harness import pool
from harness.errors import BrokerDied, EnvironmentProblem
from harness.pool import Line, Pool


class World:
    """Clusters and proxy servers that live as long as the test wants."""

    def __init__(self):
        self.clusters, self.servers, self.lanes = [], [], 0

    @asynccontextmanager
    async def cluster(self, broker_id, lanes, logs):
        one = SimpleNamespace(dead=None, died=lambda: one.dead)
        self.clusters.append(one)
        yield one

    @asynccontextmanager
    async def server(self, folder):
        async def alive():
            return one.up

        one = SimpleNamespace(up=True, alive=alive)
        self.servers.append(one)
        yield one

    @asynccontextmanager
    async def open_lane(self, cluster, server, number, dialled):
        self.lanes += 1
        yield SimpleNamespace(number=number, server=server)


@pytest.fixture
def world(monkeypatch):
    world = World()
    monkeypatch.setattr(pool.registry, "broker", lambda _: world)
    monkeypatch.setattr(pool.registry, "proxy", lambda _: world)
    monkeypatch.setattr(pool, "open_lane", world.open_lane)
    return world


def work(tmp_path, line, lanes=2):
    said = []
    asyncio.run(Pool("fake:1", lanes, tmp_path, said.append).work(line))
    return said


def test_every_job_is_done_once_and_each_lane_has_one_at_a_time(world, tmp_path):
    done, busy = [], set()

    def job(n):
        async def do(cluster, lane):
            assert lane.number not in busy
            busy.add(lane.number)
            await asyncio.sleep(0)
            busy.remove(lane.number)
            done.append(n)

        return do

    work(tmp_path, Line([job(n) for n in range(20)]))
    assert sorted(done) == list(range(20)) and len(world.clusters) == 1 and world.lanes == 2


def test_a_cluster_that_died_is_replaced_for_what_waits(world, tmp_path):
    done = []

    async def kill(cluster, lane):
        cluster.dead = "killed"

    async def fine(cluster, lane):
        done.append(lane)

    work(tmp_path, Line([kill, fine, fine]), lanes=1)
    assert len(world.clusters) == 2 and len(done) == 2


def test_a_third_cluster_that_dies_is_the_machines_doing(world, tmp_path):
    async def kill(cluster, lane):
        cluster.dead = "killed"

    with pytest.raises(BrokerDied, match="3 clusters of fake:1 died; 2 trials were not run"):
        work(tmp_path, Line([kill] * 5), lanes=1)


def test_a_proxy_server_that_is_silent_is_replaced_and_told(world, tmp_path):
    async def silence(cluster, lane):
        lane.server.up = False

    async def fine(cluster, lane):
        pass

    said = work(tmp_path, Line([silence, fine]), lanes=1)
    assert len(world.servers) == 2 and len(world.clusters) == 1
    assert "is not to be trusted any more" in said[0]
    with pytest.raises(ExceptionGroup) as caught:
        work(tmp_path, Line([silence] * 5), lanes=1)
    assert caught.group_contains(EnvironmentProblem, match="3 proxy servers stopped answering; 2 trials")


def test_an_open_line_waits_for_jobs_until_it_is_closed(world, tmp_path):
    done = []

    async def scenario():
        line = Line(open=True)

        async def last(cluster, lane):
            done.append("last")
            line.close()

        async def first(cluster, lane):
            done.append("first")
            line.put(last)

        working = asyncio.create_task(Pool("fake:1", 3, tmp_path).work(line))
        line.put(first)
        await working

    asyncio.run(scenario())
    assert done == ["first", "last"]


def test_what_may_not_go_on_is_left(world, tmp_path):
    done = []

    async def job(cluster, lane):
        done.append(lane)

    line = Line([job] * 5, goes_on=lambda: len(done) < 2)
    work(tmp_path, line, lanes=1)
    assert len(done) == 2 and len(line) == 3
