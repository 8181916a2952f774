"""Contradictory ApiVersions responses: the next request's version is lower, and never below 0 (NET-CON-02)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from clients.reference.network.api_versions import version_to_ask_instead
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
