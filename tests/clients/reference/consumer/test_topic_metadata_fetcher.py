"""TopicMetadataFetcher: what a response about topics means for the call that asked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from clients.reference.consumer.errors import InvalidTopicError, TopicAuthorizationError
from clients.reference.consumer.topic_metadata_fetcher import _read


def body(code=0, leader=1):
    partition = SimpleNamespace(
        error_code=0, partition_index=0, leader_id=leader, leader_epoch=2, replica_nodes=(1,), isr_nodes=()
    )
    return SimpleNamespace(topics=[SimpleNamespace(error_code=code, name="t", partitions=[partition])])


@pytest.mark.parametrize(("leader", "told"), [(1, 1), (-1, None)])
def test_partitions_are_returned_also_without_a_leader(leader, told):
    assert _read(body(leader=leader))["t"][0].leader == told


def test_a_topic_that_does_not_exist_is_left_out():
    assert _read(body(3)) == {}


@pytest.mark.parametrize("code", [5, 7])
def test_the_question_is_repeated_after_an_error_that_may_pass(code):
    assert _read(body(code)) is None


@pytest.mark.parametrize(("code", "error"), [(17, InvalidTopicError), (29, TopicAuthorizationError)])
def test_other_errors_are_raised(code, error):
    with pytest.raises(error):
        _read(body(code))
