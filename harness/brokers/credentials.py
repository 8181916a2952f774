"""The password of the listeners that do not belong to a lane. Only the harness and this cluster's brokers know it.

Any user of the machine can connect to a port on 127.0.0.1. INTERNAL is not observed by a witness, so records that
another user writes there would be blamed on the client, and CONTROLLER allows any change to the cluster. Both require a
password (SASL/PLAIN), which is generated for each cluster and stored in its ``server.properties``, in a private folder.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

MECHANISM = "PLAIN"
GUARDED = ("INTERNAL", "CONTROLLER")
USER = "harness"


@dataclass(frozen=True)
class Credentials:
    """The only user of a cluster's guarded listeners."""

    password: str = field(repr=False)

    @classmethod
    def drawn(cls) -> Credentials:
        """Return credentials with a random password."""
        return cls(secrets.token_hex(32))

    @property
    def token(self) -> bytes:
        """The bytes of SaslAuthenticate (RFC 4616)."""
        return f"\0{USER}\0{self.password}".encode()

    def properties(self) -> dict[str, str]:
        """Return the settings of a node that requires the password, and uses it to connect to other nodes."""
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
