"""The scripted brokers respond as real ones do, except for the listed differences."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from testkit.fidelity import classic_plans, consumer_plans, reading_plans, transaction_plans
from testkit.fidelity.plans import draw, draw_outage
from testkit.fidelity.session import compare

pytestmark = pytest.mark.jvm

#: Plans that once showed a difference: a Fetch that waits within a batch, and the first entry of the offset index.
ONCE_DIFFERENT = (2_475_606, 2_475_713)


@pytest.mark.parametrize(
    ("version", "nodes", "plans", "outages"),
    [
        ("4.3.1", 1, 20, 1),
        pytest.param("3.9.2", 1, 10, 0, marks=pytest.mark.extended),
        pytest.param("4.3.1", 3, 15, 0, marks=pytest.mark.extended),
    ],
)
def test_scripted_brokers_respond_like_real_ones(
    tmp_path: Path, version: str, nodes: int, plans: int, outages: int
) -> None:
    drawn = [draw(seed, version, nodes) for seed in range(plans)]
    drawn += [draw_outage(seed, version, nodes) for seed in range(outages)]
    figures = asyncio.run(compare(version, nodes, drawn, tmp_path))
    assert figures.plans == plans + outages
    assert not figures.unknown, "\n".join(map(str, figures.unknown))
    # The comparison is not empty: batches were stored, and others rejected with several error codes.
    assert figures.batches > 2 * plans
    assert len(figures.codes) > 12


#: Kafka 3.9 has the protocol of KIP-848 only as a preview, and its old coordinator, which is not scripted, breaks ties
#: between assignors in another way.
KINDS = {"4.3.1": (reading_plans, classic_plans, consumer_plans), "3.9.2": (reading_plans,)}


@pytest.mark.parametrize(
    ("version", "nodes", "plans"),
    [
        ("4.3.1", 1, 12),
        pytest.param("4.3.1", 3, 8, marks=pytest.mark.extended),
        pytest.param("3.9.2", 1, 25, marks=pytest.mark.extended),
    ],
)
def test_scripted_brokers_answer_consumers_like_real_ones(
    tmp_path: Path, version: str, nodes: int, plans: int
) -> None:
    drawn = [kind.draw(seed, version, nodes) for kind in KINDS[version] for seed in range(plans)]
    if (version, nodes) == ("4.3.1", 1):
        drawn += [reading_plans.draw(seed, version, nodes) for seed in ONCE_DIFFERENT]
    figures = asyncio.run(compare(version, nodes, drawn, tmp_path))
    assert figures.plans == len(drawn)
    assert not figures.unknown, "\n".join(map(str, figures.unknown))
    # The comparison is not empty: requests waited for others, and others were refused with several error codes.
    assert figures.late > plans
    assert len(figures.codes) > (20 if len(KINDS[version]) > 1 else 9)


@pytest.mark.parametrize(
    ("version", "nodes", "plans", "level"),
    [
        ("4.3.1", 1, 12, None),
        pytest.param("4.3.1", 1, 12, 1, marks=pytest.mark.extended),
        pytest.param("4.3.1", 3, 6, None, marks=pytest.mark.extended),
    ],
)
def test_scripted_brokers_answer_transactional_producers_like_real_ones(
    tmp_path: Path, version: str, nodes: int, plans: int, level: int | None
) -> None:
    drawn = [transaction_plans.draw(seed, version, nodes) for seed in range(plans)]
    figures = asyncio.run(compare(version, nodes, drawn, tmp_path, level))
    assert figures.plans == plans
    assert not figures.unknown, "\n".join(map(str, figures.unknown))
    # The comparison is not empty: transactions left batches, and others were refused with several error codes.
    assert figures.batches > 4 * plans
    assert len(figures.codes) > 9
