"""The negotiated version is the highest common one, or there is none (NET-CON-04)."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.messages import client_versions
from harness.wire.versions import UnsupportedVersion, negotiate
from testkit.codes import raises_code

bounds = st.none() | st.integers(0, 20)


@given(st.sampled_from(list(Api)), st.integers(0, 20), st.integers(0, 20), bounds, bounds)
def test_the_highest_common_version_is_negotiated(
    api: Api, low: int, high: int, lowest: int | None, highest: int | None
) -> None:
    assume(low <= high)
    ours_low, ours_high = client_versions(api)
    common = [
        version
        for version in range(ours_low, ours_high + 1)
        if low <= version <= high
        and (lowest is None or version >= lowest)
        and (highest is None or version <= highest)
    ]
    if common:
        assert negotiate(api, {api: (low, high)}, lowest, highest) == max(common)
    else:
        with pytest.raises(UnsupportedVersion):
            negotiate(api, {api: (low, high)}, lowest, highest)


def test_an_error_names_the_versions_of_both_sides() -> None:
    with raises_code(
        UnsupportedVersion, "no-common-version", api="Produce", low=3, high=13, theirs_low=0, theirs_high=2
    ):
        negotiate(Api.PRODUCE, {Api.PRODUCE: (0, 2)})
    with raises_code(UnsupportedVersion, "api-not-offered", api="InitProducerId"):
        negotiate(Api.INIT_PRODUCER_ID, {Api.PRODUCE: (3, 13)})


def test_an_unknown_api_is_a_wire_error() -> None:
    with pytest.raises(WireError):
        negotiate(999, {999: (0, 1)})
