"""Version negotiation: use the highest version that both sides support (KIP-35, NET-CON-04)."""

from __future__ import annotations

from collections.abc import Mapping

from harness.wire.apis import api_name
from harness.wire.errors import WireError
from harness.wire.messages import client_versions


class UnsupportedVersion(WireError):
    """Client and broker have no version of an API in common. Nothing is sent, and the connection stays open."""


def negotiate(
    api_key: int,
    broker: Mapping[int, tuple[int, int]],
    lowest: int | None = None,
    highest: int | None = None,
) -> int:
    """Return the highest version of an API that the client and a broker have in common.

    ``broker`` maps each API key of the broker's ApiVersions response to (lowest, highest). ``lowest`` and ``highest``
    narrow the client's own range. Raises :class:`UnsupportedVersion` if the ranges do not overlap.
    """
    ours_low, ours_high = client_versions(api_key)
    low = ours_low if lowest is None else max(ours_low, lowest)
    high = ours_high if highest is None else min(ours_high, highest)
    if api_key not in broker:
        raise UnsupportedVersion("api-not-offered", "the broker does not offer {api}", api=api_name(api_key))
    theirs_low, theirs_high = broker[api_key]
    version = min(high, theirs_high)
    if version < max(low, theirs_low):
        raise UnsupportedVersion(
            "no-common-version",
            "no version of {api} in common: the client speaks {low} to {high}, the broker "
            "{theirs_low} to {theirs_high}",
            api=api_name(api_key),
            low=low,
            high=high,
            theirs_low=theirs_low,
            theirs_high=theirs_high,
        )
    return version
