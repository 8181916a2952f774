"""The password of the listeners that no lane leads to: only the harness and the brokers of this cluster know it.

Any user of the machine can reach a port on 127.0.0.1. What comes through INTERNAL passes no witness, so a record that a
neighbour writes there would be held against a client, and CONTROLLER can change anything. Both ask for a password
(SASL/PLAIN) that is drawn for each cluster and stands in its ``server.properties``, in a folder of ours.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

MECHANISM = "PLAIN"
GUARDED = ("INTERNAL", "CONTROLLER")
USER = "harness"


@dataclass(frozen=True)
class Credentials:
    """The one user of a cluster's own listeners."""

    password: str = field(repr=False)

    @classmethod
    def drawn(cls) -> Credentials:
        """A random password."""
        return cls(secrets.token_hex(32))

    @property
    def token(self) -> bytes:
        """What SaslAuthenticate carries (RFC 4616)."""
        return f"\0{USER}\0{self.password}".encode()

    def properties(self) -> dict[str, str]:
        """The settings of a node that asks for the password, and uses it towards the other nodes."""
        login = (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="{USER}" password="{self.password}" user_{USER}="{self.password}";'
        )
        told = {
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "sasl.mechanism.controller.protocol": MECHANISM,
        }
        for name in GUARDED:
            listener = f"listener.name.{name.lower()}"
            told[f"{listener}.sasl.enabled.mechanisms"] = MECHANISM
            told[f"{listener}.{MECHANISM.lower()}.sasl.jaas.config"] = login
        return told
