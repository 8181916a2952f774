"""Jobs wait in a queue for a lane; dead clusters and proxy servers are replaced; leftovers are reported."""

from __future__ import annotations

import asyncio
import resource
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from harness.model.errors import BrokerDied, EnvironmentProblem
from harness.plugins import registry
from harness.running import lane_pool as pool
from harness.running.lane_pool import JobQueue, Pool
from testkit.codes import raises_code


class World:
    """Clusters, proxy servers and lanes without sockets, whose life the test controls."""

    def __init__(self):
        self.clusters, self.servers, self.lanes = [], [], 0
        self.unsound, self.renewals, self.broken = [], 0, []
        self.renewed = asyncio.Event()
        self.starting, self.may_overlap, self.faulty = 0, False, []
        self.emptied, self.stuck = 0, []

    def pool(self, *args, **more):
        return Pool(*args, **more, open_lane=self.open_lane)

    @asynccontextmanager
    async def cluster(self, broker_id, lanes, logs):
        async def renew():
            self.renewals += 1
            self.renewed.set()
            return self.unsound.pop(0) if self.unsound else None

        self.starting += 1
        assert self.starting == 1 or self.may_overlap
        await asyncio.sleep(0)
        self.starting -= 1
        if self.broken:
            raise self.broken.pop(0)
        one = SimpleNamespace(dead=None, died=lambda: one.dead, renew=renew)
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

        async def assert_pristine():
            if self.faulty:
                raise self.faulty.pop(0)

        async def empty():
            self.emptied += 1
            if self.stuck:
                raise self.stuck.pop(0)

        yield SimpleNamespace(number=number, server=server, assert_pristine=assert_pristine, empty=empty)


@pytest.fixture
def world():
    world = World()
    with registry.replaced("brokers", {"fake": world}), registry.replaced("proxies", {"toxiproxy": world}):
        yield world


def work(world, tmp_path, line, lanes=2):
    said = []
    asyncio.run(world.pool("fake:1", lanes, tmp_path, said.append).work(line))
    return said


def test_every_job_runs_once_and_each_lane_runs_one_at_a_time(world, tmp_path):
    done, busy = [], set()

    def job(n):
        async def do(cluster, lane):
            assert lane.number not in busy
            busy.add(lane.number)
            await asyncio.sleep(0)
            busy.remove(lane.number)
            done.append(n)

        return do

    work(world, tmp_path, JobQueue([job(n) for n in range(20)]))
    assert sorted(done) == list(range(20)) and len(world.clusters) == 1 and world.lanes == 2


def test_a_dead_cluster_is_replaced_for_the_waiting_jobs(world, tmp_path):
    done = []

    async def kill(cluster, lane):
        cluster.dead = "killed"

    async def fine(cluster, lane):
        done.append(lane)

    work(world, tmp_path, JobQueue([kill, fine, fine]), lanes=1)
    assert len(world.clusters) == 2 and len(done) == 2


def test_a_third_dead_cluster_is_an_environment_problem(world, tmp_path):
    async def kill(cluster, lane):
        cluster.dead = "killed"

    with raises_code(BrokerDied, "clusters-died", clusters=3, broker="fake:1", count=2):
        work(world, tmp_path, JobQueue([kill] * 5), lanes=1)


def test_a_silent_proxy_server_is_replaced_and_reported(world, tmp_path):
    async def silence(cluster, lane):
        lane.server.up = False

    async def fine(cluster, lane):
        return 0.0

    said = work(world, tmp_path, JobQueue([silence, fine]), lanes=1)
    assert len(world.servers) == 2 and len(world.clusters) == 1
    assert "is not to be trusted any more" in said[0]


def test_a_proxy_server_may_end_with_every_trial(world, tmp_path):
    done = []

    async def silence(cluster, lane):
        done.append(lane)
        lane.server.up = False

    work(world, tmp_path, JobQueue([silence] * 5), lanes=1)
    assert len(done) == 5


def test_a_third_unusable_proxy_server_is_an_environment_problem(world, tmp_path):
    async def job(cluster, lane):
        world.stuck = [EnvironmentProblem("made-up", "it cannot be emptied")] * 5

    with pytest.raises(ExceptionGroup) as caught:
        work(world, tmp_path, JobQueue([job] * 3), lanes=1)
    assert {error.code for error in caught.value.exceptions} == {"proxies-died"}
    assert len(world.servers) == 4


def test_a_lane_is_emptied_before_each_job_or_replaced(world, tmp_path):
    seen = []

    async def job(cluster, lane):
        seen.append((world.emptied, world.lanes))
        world.stuck = [EnvironmentProblem("made-up", "it cannot be emptied")] if len(seen) == 2 else []

    said = work(world, tmp_path, JobQueue([job] * 3), lanes=1)
    assert seen == [(1, 1), (2, 1), (4, 2)]
    assert "is not to be trusted any more" in said[0]


def test_the_limit_of_open_files_is_raised_for_the_lanes(world, tmp_path):
    allowed = []

    async def job(cluster, lane):
        allowed.append(resource.getrlimit(resource.RLIMIT_NOFILE))

    before = _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard > 1024, "the test needs room above what shells give"
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        work(world, tmp_path, JobQueue([job]), lanes=1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        work(world, tmp_path, JobQueue([job]), lanes=1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    most = pool.OPEN_FILES if hard == resource.RLIM_INFINITY else min(pool.OPEN_FILES, hard)
    assert allowed == [(most, hard), (hard, hard)]


def test_an_open_queue_waits_for_jobs_until_it_is_closed(world, tmp_path):
    done = []

    async def scenario():
        line = JobQueue(open=True)

        async def last(cluster, lane):
            done.append("last")
            line.close()

        async def first(cluster, lane):
            done.append("first")
            line.put(last)

        working = asyncio.create_task(world.pool("fake:1", 3, tmp_path).work(line))
        line.put(first)
        await working

    asyncio.run(scenario())
    assert done == ["first", "last"]


def test_jobs_are_left_when_the_queue_may_not_continue(world, tmp_path):
    done = []

    async def job(cluster, lane):
        done.append(lane)

    line = JobQueue([job] * 5, goes_on=lambda: len(done) < 2)
    work(world, tmp_path, line, lanes=1)
    assert len(done) == 2 and len(line) == 3


def exclusive(world, tmp_path, line, pools=1, **more):
    async def scenario():
        starts = asyncio.Semaphore(1)
        async with asyncio.TaskGroup() as group:
            for n in range(pools):
                pool = world.pool("fake:1", 1, tmp_path / str(n), exclusive=True, starts=starts, **more)
                group.create_task(pool.work(line))

    asyncio.run(scenario())


def jobs_on(seen, lingers_s):
    """Return a job for each number of seconds, which records its cluster and returns that lingering time."""

    def job(seconds):
        async def do(cluster, lane):
            await asyncio.sleep(0)
            seen.append(cluster)
            return seconds

        return do

    return [job(seconds) for seconds in lingers_s]


def test_exclusive_jobs_share_a_cluster_that_is_renewed_between_them(world, tmp_path):
    seen = []
    exclusive(world, tmp_path, JobQueue(jobs_on(seen, [0.0] * 5)))
    assert len(seen) == 5 and len(world.clusters) == 1 and world.renewals == 4


def test_a_cluster_that_is_not_as_new_is_replaced_without_losing_a_job(world, tmp_path):
    seen, world.unsound = [], ["broker 2 has a quota", None, "it is paused", None]
    exclusive(world, tmp_path, JobQueue(jobs_on(seen, [0.0] * 5)))
    assert [world.clusters.index(cluster) for cluster in seen] == [0, 1, 1, 2, 2]


def test_a_lane_with_leftovers_replaces_the_cluster(world, tmp_path):
    seen, world.faulty = [], [EnvironmentProblem("made-up", "the proxy still carries a fault"), OSError()]
    exclusive(world, tmp_path, JobQueue(jobs_on(seen, [0.0] * 3)))
    assert [world.clusters.index(cluster) for cluster in seen] == [0, 1, 2] and world.renewals == 0


def test_a_lingering_job_delays_the_next_one_or_gets_a_cluster_of_its_own(world, tmp_path):
    seen, slept = [], []

    async def nap(seconds):
        slept.append(seconds)

    exclusive(world, tmp_path, JobQueue(jobs_on(seen, [float("inf"), 12.0, 0.0])), pause=nap)
    assert [world.clusters.index(cluster) for cluster in seen] == [0, 1, 1]
    assert slept.count(12.0) == 1 and world.renewals == 1


def test_exclusive_clusters_may_die_as_often_as_there_are_jobs(world, tmp_path):
    seen = []

    async def kill(cluster, lane):
        seen.append(cluster)
        cluster.dead = "killed"
        return 0.0

    exclusive(world, tmp_path, JobQueue([kill] * 5))
    assert len(world.clusters) == len(seen) == 5 and world.renewals == 0


def test_a_cluster_that_dies_while_it_waits_loses_no_job(world, tmp_path):
    """The death is noticed with the job taken, and the job goes back to the queue for the next cluster."""
    seen = []

    async def scenario():
        line = JobQueue(open=True)
        first, second = jobs_on(seen, [0.0, 0.0])
        working = asyncio.create_task(world.pool("fake:1", 1, tmp_path, exclusive=True).work(line))
        line.put(first)
        await world.renewed.wait()
        world.clusters[0].dead = "killed"
        line.put(second)
        line.close()
        await working

    asyncio.run(scenario())
    assert [world.clusters.index(cluster) for cluster in seen] == [0, 1]


def test_a_dead_proxy_server_after_an_exclusive_job_replaces_the_cluster(world, tmp_path):
    """Without it the lane cannot be checked, so that nothing shows that the cluster is as new."""
    seen = []

    async def silence(cluster, lane):
        seen.append(cluster)
        lane.server.up = False
        world.faulty.append(EnvironmentProblem("made-up", "the proxy server does not answer"))
        return 0.0

    exclusive(world, tmp_path, JobQueue([silence, *jobs_on(seen, [0.0])]))
    assert [world.clusters.index(cluster) for cluster in seen] == [0, 1]


def test_clusters_start_one_by_one_and_only_while_jobs_remain(world, tmp_path):
    """The world asserts that no two start at once, and both jobs are done before a third pool may start."""
    seen = []
    exclusive(world, tmp_path, JobQueue(jobs_on(seen, [0.0, 0.0])), pools=5)
    assert len(seen) == 2 and len(world.clusters) < 5


def test_starting_a_cluster_is_tried_three_times(world, tmp_path):
    seen, world.broken = [], [BrokerDied("made-up", "not ready within 60 s")] * 2
    exclusive(world, tmp_path, JobQueue(jobs_on(seen, [0.0])))
    assert len(seen) == 1
    world.broken = [BrokerDied("made-up", "not ready within 60 s")] * 3
    with pytest.raises(ExceptionGroup) as caught:
        exclusive(world, tmp_path, JobQueue(jobs_on(seen, [0.0])))
    assert {error.code for error in caught.value.exceptions} == {"made-up"}
