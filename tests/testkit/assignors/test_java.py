"""The reference client's assignors compared with Java's, on random groups, and a defect that the comparison finds."""

from __future__ import annotations

from random import randrange

import pytest

from clients.reference.consumer.assignors import ASSIGNORS
from clients.reference.consumer.assignors.range_assignor import RangeAssignor
from testkit.assignors import compare as comparison
from testkit.assignors.compare import FORMER_READER, TOPICLESS, compare
from testkit.assignors.java_side import JavaAssignors

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def java():
    with JavaAssignors() as java:
        yield java


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_assignments_and_bytes_equal_those_of_java(java, assignor):
    seed = randrange(2**32)
    figures = compare(java, assignor, seed, count=100)
    assert figures.differences == [], f"seed {seed}"
    assert figures.assignments >= 100
    assert figures.encodings > figures.assignments
    assert figures.excused.keys() <= {TOPICLESS, FORMER_READER}
    assert figures.excused.total() * 2 <= figures.assignments


class Reversed(RangeAssignor):
    """A range assignor whose members get each other's partitions."""

    def assign(self, partitions_per_topic, subscriptions):
        assignment = super().assign(partitions_per_topic, subscriptions)
        return dict(zip(assignment, reversed(assignment.values()), strict=True))


class Fuller(RangeAssignor):
    """A range assignor that adds user data."""

    def subscription_user_data(self, topics):
        return b"more"


@pytest.mark.parametrize("defective", [Reversed, Fuller])
def test_a_defect_is_found(java, monkeypatch, defective):
    monkeypatch.setattr(comparison, "ASSIGNORS", {"range": defective})
    assert compare(java, "range", 1, count=20).differences
