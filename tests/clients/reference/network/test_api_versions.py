"""Contradictory ApiVersions responses: the next request's version is lower, and never below 0 (NET-CON-02)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from clients.reference.network.api_versions import ApiVersions, version_to_ask_instead
from harness.wire.apis import Api
from harness.wire.messages import make, message_class, nested

ANSWER = message_class(Api.API_VERSIONS, 0, "response")
OFFER = nested(ANSWER, "ApiVersion")


def told(highest: int | None) -> object:
    offers = (
        ()
        if highest is None
        else (make(OFFER, api_key=Api.API_VERSIONS, min_version=0, max_version=highest),)
    )
    return make(ANSWER, error_code=ErrorCode.unsupported_version, api_keys=offers)


@given(asked=st.integers(1, 10), highest=st.integers(-(2**15), 2**15 - 1) | st.none())
def test_next_request_has_a_lower_existing_version(asked: int, highest: int | None) -> None:
    lower = version_to_ask_instead(asked, told(highest))
    assert lower is not None and 0 <= lower < asked


@pytest.mark.parametrize(
    ("asked", "highest", "expected"), [(4, 2, 2), (4, 9, 3), (4, None, 0), (3, -5, 0), (0, 0, None)]
)
def test_version_of_the_next_request(asked: int, highest: int | None, expected: int | None) -> None:
    assert version_to_ask_instead(asked, told(highest)) == expected


def features(epoch: int, level: int, version: int = 4) -> object:
    answer = message_class(Api.API_VERSIONS, version, "response")
    feature = make(
        nested(answer, "FinalizedFeatureKey"),
        name="transaction.version",
        max_version_level=level,
        min_version_level=0,
    )
    return make(
        answer,
        error_code=ErrorCode.none,
        api_keys=(),
        throttle_time=timedelta(),
        finalized_features_epoch=epoch,
        finalized_features=(feature,),
    )


@given(responses=st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 3)), max_size=6))
def test_the_features_of_the_newest_epoch_count(responses: list[tuple[int, int]]) -> None:
    """KIP-584: whichever node told them, and in whichever order."""
    known = ApiVersions()
    for epoch, level in responses:
        known.learn_features(features(epoch, level))
    valid = [each for each in responses if each[0] >= 0]
    newest = max((epoch for epoch, _ in valid), default=-1)
    expected = next((each for each in valid if each[0] == newest), (-1, 0))
    assert known.finalized_feature("transaction.version") == expected
    assert known.finalized_feature("metadata.version") == (newest, 0)


def test_a_response_without_features_tells_none() -> None:
    known = ApiVersions()
    known.learn_features(told(4))
    assert known.finalized_feature("transaction.version") == (-1, 0)
