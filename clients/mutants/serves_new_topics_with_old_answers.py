"""A response to a Metadata request from before a topic was wanted counts as the response for that topic."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.metadata.metadata import Metadata, MetadataRequest
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class HastyMetadata(Metadata):
    """Treats every response as the response to the newest request."""

    def _answered(self, question: MetadataRequest, now_ms: int) -> None:
        super()._answered(replace(question, version=self._request_version), now_ms)


MUTANT = Mutant(
    "takes the response to an older request for the response about a new topic",
    Components(metadata=HastyMetadata),
    caught_by=("delivery/an_older_answer_is_none_about_a_newer_topic",),
    breaks=("MET-07",),
)
