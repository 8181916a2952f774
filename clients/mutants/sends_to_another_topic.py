"""Every third Produce request names a topic other than the one of its records."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as changed

from clients.reference.common.requests import PRODUCE_BY_NAME_HIGHEST, ClientRequest, Message
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee
from harness.wire.apis import Api

EVERY = 3


class Straying(NetworkClient):
    """Changes the topic names of every third Produce request, which contains names instead of topic ids."""

    _produced = 0

    def send(self, request: ClientRequest, now_ms: int) -> bool:
        if request.api is Api.PRODUCE:
            self._produced += 1
            if self._produced % EVERY == 0:
                request = _strayed(request)
        return super().send(request, now_ms)


def _strayed(request: ClientRequest) -> ClientRequest:
    def build(version: int) -> Message:
        whole = request.build(version)
        topics = tuple(replace(topic, name=f"{topic.name}-other") for topic in whole.topic_data)
        return replace(whole, topic_data=topics)

    return changed(request, build=build, highest=PRODUCE_BY_NAME_HIGHEST)


MUTANT = Mutant(
    "names another topic in every third Produce request",
    Components(network_client=Straying),
    caught_by=("uninvited-request",),
    breaks=("E2E-DEL-06",),
    scenario="produce/calm",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
