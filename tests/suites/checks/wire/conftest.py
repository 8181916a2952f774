"""Stories of an idempotent producer, which gets its producer id on the wire."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.rows import Frame, FrameKind
from harness.model.verdicts import Guarantee

GUARANTEES = st.sampled_from([Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT])


def give_id(told, at_ms=-90, conn=1, error_codes=()):
    """Add an InitProducerId request and its response."""
    for kind, codes in ((FrameKind.REQUEST, ()), (FrameKind.RESPONSE, error_codes)):
        told.correlation += kind is FrameKind.REQUEST
        told.frames.append(
            Frame(
                t_ns=5_000_000_000_000 + int(at_ms * 1_000_000),
                lane=0,
                broker=1,
                conn=conn,
                kind=kind,
                api_key=22,
                api="InitProducerId",
                correlation_id=told.correlation,
                error_codes=codes,
            )
        )


@pytest.fixture(scope="session")
def given_id():
    """Return a function that gives the producer a producer id."""
    return give_id


@pytest.fixture(scope="session")
def numbered(story):
    """Return the builder of stories of an idempotent producer with a producer id."""

    def begin(**changes):
        told = story(Guarantee.IDEMPOTENT, **changes)
        give_id(told)
        return told

    return begin


@pytest.fixture(scope="session")
def changed_last():
    """Return a function that changes the batch of a story's last Produce request."""

    def change(told, **changes):
        at = max(i for i, frame in enumerate(told.frames) if frame.kind is FrameKind.REQUEST)
        frame = told.frames[at]
        told.frames[at] = replace(frame, produce=(replace(frame.produce[0], **changes),))

    return change


@pytest.fixture(scope="session")
def faithful_numbered(faithful):
    """Return the strategy of correct stories of an idempotent producer."""

    @st.composite
    def stories(draw):
        told = draw(faithful(Guarantee.IDEMPOTENT))
        give_id(told)
        return told

    return stories()
