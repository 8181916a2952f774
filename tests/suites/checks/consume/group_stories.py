"""Stories of groups that several tests begin with."""

from __future__ import annotations

from harness.model.verdicts import Guarantee
from tests.suites.checks.consume.group_story import GroupStory
from tests.suites.checks.consume_wire.fetch_story import FetchStory, part


def with_transactions(guarantee: Guarantee = Guarantee.AT_LEAST_ONCE, **config: str) -> GroupStory:
    """Return a trial in which m1 reads plain records, aborted ones, committed ones, and plain ones again.

    Offsets of partition 0: 0 to 2 plain, 3 to 5 aborted and a marker, 7 to 8 committed and a marker, 10 to 11 plain.
    """
    told = GroupStory(guarantee, partitions=1, config={"isolation.level": "read_committed", **config})
    told.start("m1")
    told.assign("m1", 0, at_ms=-500)
    told.write(3, 0)
    told.transaction(3, 0, 100, 200, commits=False)
    told.transaction(2, 0, 300, 400, commits=True)
    told.write(2, 0, at_ms=500)
    told.take("m1", 0, 0, 1, 2, 7, 8, 10, 11, at_ms=1_000)
    told.commit("m1", 0, 12, at_ms=1_020)
    told.revoke("m1", 0, at_ms=7_050)
    told.close("m1", 7_000)
    told.stored(p0=12)
    return told


def with_truncation(guarantee: Guarantee = Guarantee.AT_LEAST_ONCE, begins: int = 3) -> GroupStory:
    """Return a trial in which the log loses its records 3 and 4 after m1 has read them, and gets others at 3 to 8.

    Then m1 reads from ``begins`` on.
    """
    told = GroupStory(guarantee, partitions=1)
    told.start("m1")
    told.assign("m1", 0, at_ms=-500)
    told.write(3, 0)
    told.take("m1", 0, 0, 1, 2, at_ms=100)
    for offset, value in enumerate(told.lose(2, 0, 1_100), start=3):
        told.take("m1", 0, offset, at_ms=1_000 + 100 * offset, value=value)
    told.commit("m1", 0, 5, at_ms=1_600)
    told.fault("unclean_election", 1_000, 3_000)
    told.write(6, 0, at_ms=3_000)
    told.take("m1", 0, *range(begins, 9), at_ms=4_000)
    told.commit("m1", 0, 9, at_ms=4_020)
    told.revoke("m1", 0, at_ms=7_050)
    told.close("m1", 7_000)
    told.stored(p0=9)
    return told


def with_damage(guarantee: Guarantee = Guarantee.AT_LEAST_ONCE) -> FetchStory:
    """Return a trial in which m1 gets an error about its second batch, offsets 5 to 9, and then stays there."""
    told = FetchStory(guarantee, partitions=1)
    told.start("m1")
    told.assign("m1", 0, at_ms=-500)
    for at_ms in (0, 10, 20):
        told.write(5, 0, at_ms)
    told.ask(90, 100, asks=(part(0, 0),), tells=(part(data_bytes=300),))
    told.take("m1", 0, *range(5), at_ms=110)
    told.commit("m1", 0, 5, at_ms=120)
    told.ask(190, 200, asks=(part(0, 5),), tells=(part(data_bytes=300, damaged=(5, 10)),))
    told.raised("m1", 210, error="CorruptRecordException")
    told.revoke("m1", 0, at_ms=7_050)
    told.close("m1", 7_000)
    told.stored(p0=5)
    return told


def calm(guarantee: Guarantee = Guarantee.AT_LEAST_ONCE, stays_ms: float = 0) -> GroupStory:
    """Return a trial in which m2 joins m1, gets partition 1, and everything is read, committed and closed.

    With ``stays_ms`` the members stay longer, and commit once more at the end.
    """
    told = GroupStory(
        guarantee, heal_ms=6_000 + stays_ms, final_ms=7_000 + stays_ms, end_ms=60_000 + stays_ms
    )
    told.start("m1")
    told.assign("m1", 0, 1, at_ms=-500)
    for partition in (0, 1):
        told.write(6, partition)
        told.take("m1", partition, 0, 1, 2, at_ms=100 + partition)
        told.commit("m1", partition, 3, at_ms=120 + partition)
    told.start("m2", at_ms=500)
    told.revoke("m1", 0, 1, at_ms=1_500)
    told.assign("m1", 0, at_ms=1_600, generation=2)
    told.assign("m2", 1, at_ms=1_600, generation=2)
    told.fault("member_join", 500, 5_500)
    for member, partition in (("m1", 0), ("m2", 1)):
        told.take(member, partition, 3, 4, 5, at_ms=4_000)
        told.commit(member, partition, 5, at_ms=4_011)
        told.commit(member, partition, 6, at_ms=4_020)
    for member, partition in (("m1", 0), ("m2", 1)):
        if stays_ms:
            told.commit(member, partition, 6, at_ms=5_000 + stays_ms)
        told.revoke(member, partition, at_ms=7_050 + stays_ms)
        told.close(member, 7_000 + stays_ms)
    told.stored(p0=6, p1=6)
    return told


def with_a_throwing_listener(
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE, *, told_ms: float | None = 1_510
) -> GroupStory:
    """Return a calm trial in which m1's listener throws at 1.5 s, and poll() ends with that at ``told_ms``."""
    told = calm(guarantee)
    told.fault("listener_throws", 600, 5_000, member=1, callback=1)
    told.done("throw", "m1", 700)
    if told_ms is not None:
        told.fails("m1", "poll", told_ms)
    return told
