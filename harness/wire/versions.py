"""Which version to speak: the highest that both sides know (KIP-35, NET-CON-04)."""

from __future__ import annotations

from collections.abc import Mapping

from harness.wire.apis import api_name
from harness.wire.errors import WireError
from harness.wire.messages import client_versions


class UnsupportedVersion(WireError):
    """Client and broker have no version of an API in common: nothing is sent, the connection stays."""


def negotiate(
    api_key: int,
    broker: Mapping[int, tuple[int, int]],
    lowest: int | None = None,
    highest: int | None = None,
) -> int:
    """The highest version of an API in common with a broker.

    ``broker`` is what its ApiVersions response says: API key to (lowest, highest). ``lowest`` and ``highest``
    narrow the client's own range. Raises :class:`UnsupportedVersion` where the ranges do not meet.
    """
    ours_low, ours_high = client_versions(api_key)
    low = ours_low if lowest is None else max(ours_low, lowest)
    high = ours_high if highest is None else min(ours_high, highest)
    if api_key not in broker:
        raise UnsupportedVersion(f"the broker does not offer {api_name(api_key)}")
    theirs_low, theirs_high = broker[api_key]
    version = min(high, theirs_high)
    if version < max(low, theirs_low):
        raise UnsupportedVersion(
            f"no version of {api_name(api_key)} in common: the client speaks {low} to {high}, "
            f"the broker {theirs_low} to {theirs_high}"
        )
    return version
