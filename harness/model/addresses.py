"""Where things listen: an address, and those of one lane on one broker."""

from __future__ import annotations

from dataclasses import dataclass

Address = tuple[str, int]


@dataclass(frozen=True)
class LaneAddress:
    """The three addresses of one lane on one broker, from the client inwards.

    Clients are told ``advertised`` (a proxy listens there), the proxy leads to ``witness``, the witness to
    ``listener`` (the broker listens there).
    """

    lane: int
    broker: int
    advertised: Address
    witness: Address
    listener: Address
