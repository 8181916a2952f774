"""Network addresses: a host with a port, and the addresses of one lane on one broker."""

from __future__ import annotations

from dataclasses import dataclass

Address = tuple[str, int]


@dataclass(frozen=True)
class LaneAddress:
    """The three addresses of one lane on one broker, from the client inwards.

    Clients connect to ``advertised``, where a proxy listens. The proxy forwards to ``witness``, and the witness
    forwards to ``listener``, where the broker listens.
    """

    lane: int
    broker: int
    advertised: Address
    witness: Address
    listener: Address
