"""Java's settings that the reference client refuses by name, and why. Every other setting of Java is implemented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clients.reference.config.client_config import NO_TLS, ONLY_PLAIN

#: The settings that producers and consumers have in common, with the reasons.
CLIENT_ABSENT: Final[Mapping[str, str]] = {
    **{
        f"ssl.{name}": NO_TLS
        for name in (
            "cipher.suites",
            "enabled.protocols",
            "endpoint.identification.algorithm",
            "engine.factory.class",
            "key.password",
            "keymanager.algorithm",
            "keystore.certificate.chain",
            "keystore.key",
            "keystore.location",
            "keystore.password",
            "keystore.type",
            "protocol",
            "provider",
            "secure.random.implementation",
            "trustmanager.algorithm",
            "truststore.certificates",
            "truststore.location",
            "truststore.password",
            "truststore.type",
        )
    },
    **{
        f"sasl.{name}": ONLY_PLAIN
        for name in (
            "client.callback.handler.class",
            "kerberos.kinit.cmd",
            "kerberos.min.time.before.relogin",
            "kerberos.service.name",
            "kerberos.ticket.renew.jitter",
            "kerberos.ticket.renew.window.factor",
            "login.callback.handler.class",
            "login.class",
            "login.connect.timeout.ms",
            "login.read.timeout.ms",
            "login.refresh.buffer.seconds",
            "login.refresh.min.period.seconds",
            "login.refresh.window.factor",
            "login.refresh.window.jitter",
            "login.retry.backoff.max.ms",
            "login.retry.backoff.ms",
            "oauthbearer.assertion.algorithm",
            "oauthbearer.assertion.claim.aud",
            "oauthbearer.assertion.claim.exp.seconds",
            "oauthbearer.assertion.claim.iss",
            "oauthbearer.assertion.claim.jti.include",
            "oauthbearer.assertion.claim.nbf.seconds",
            "oauthbearer.assertion.claim.sub",
            "oauthbearer.assertion.file",
            "oauthbearer.assertion.private.key.file",
            "oauthbearer.assertion.private.key.passphrase",
            "oauthbearer.assertion.template.file",
            "oauthbearer.client.credentials.client.id",
            "oauthbearer.client.credentials.client.secret",
            "oauthbearer.clock.skew.seconds",
            "oauthbearer.expected.audience",
            "oauthbearer.expected.issuer",
            "oauthbearer.header.urlencode",
            "oauthbearer.jwks.endpoint.refresh.ms",
            "oauthbearer.jwks.endpoint.retry.backoff.max.ms",
            "oauthbearer.jwks.endpoint.retry.backoff.ms",
            "oauthbearer.jwks.endpoint.url",
            "oauthbearer.jwt.retriever.class",
            "oauthbearer.jwt.validator.class",
            "oauthbearer.scope",
            "oauthbearer.scope.claim.name",
            "oauthbearer.sub.claim.name",
            "oauthbearer.token.endpoint.url",
        )
    },
    "config.providers": "values are used as they are given, without placeholders",
    "enable.metrics.push": "metrics are not pushed to the broker",
    "metrics.recording.level": "all metrics are recorded",
    "security.providers": "security providers exist only in the JVM",
}

PRODUCER_ABSENT: Final[Mapping[str, str]] = {
    **CLIENT_ABSENT,
    "transaction.two.phase.commit.enable": "Kafka's clients do not finish it yet (KIP-939)",
}

_SHARE = "only consumers of share groups use it"

CONSUMER_ABSENT: Final[Mapping[str, str]] = {
    **CLIENT_ABSENT,
    "internal.throw.on.fetch.stable.offset.unsupported": "only Kafka Streams sets it",
    "share.acknowledgement.mode": _SHARE,
    "share.acquire.mode": _SHARE,
}
