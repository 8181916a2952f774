"""The state machine of an assigned partition's position, as data (SubscriptionState.FetchStates in Java).

The events name what is wanted. In contrast to the machines of clients/reference/states.py, an event without an entry
is not a defect: the partition ignores it, because several causes may want different things of it at once.

* INITIALIZING has no position yet: a committed offset is looked up.
* FETCHING has a position that may be fetched from.
* AWAIT_RESET has no position: it is looked up by time (ListOffsets).
* AWAIT_VALIDATION has a position that is compared with the leader's log first (KIP-320).
"""

from __future__ import annotations

from clients.reference.states import Machine, Named


class FetchState(Named):
    """States of FETCH, one machine per assigned partition."""

    INITIALIZING = "INITIALIZING"
    FETCHING = "FETCHING"
    AWAIT_RESET = "AWAIT_RESET"
    AWAIT_VALIDATION = "AWAIT_VALIDATION"

    @property
    def requires_position(self) -> bool:
        """Whether the partition has a position in this state."""
        return self in (FetchState.FETCHING, FetchState.AWAIT_VALIDATION)

    @property
    def has_valid_position(self) -> bool:
        """Whether the position may be fetched from and committed."""
        return self is FetchState.FETCHING


class FetchEvent(Named):
    """The events of FETCH: a known position, a position to be validated, a position to be looked up."""

    POSITION = "position"
    VALIDATE = "validate"
    RESET = "reset"


_S, _E = FetchState, FetchEvent
FETCH: Machine[FetchState, FetchEvent] = Machine(
    "fetch",
    _S.INITIALIZING,
    {
        (_S.INITIALIZING, _E.POSITION): _S.FETCHING,
        (_S.INITIALIZING, _E.RESET): _S.AWAIT_RESET,
        (_S.INITIALIZING, _E.VALIDATE): _S.AWAIT_VALIDATION,
        (_S.FETCHING, _E.POSITION): _S.FETCHING,
        (_S.FETCHING, _E.RESET): _S.AWAIT_RESET,
        (_S.FETCHING, _E.VALIDATE): _S.AWAIT_VALIDATION,
        (_S.AWAIT_RESET, _E.POSITION): _S.FETCHING,
        (_S.AWAIT_RESET, _E.RESET): _S.AWAIT_RESET,
        (_S.AWAIT_VALIDATION, _E.POSITION): _S.FETCHING,
        (_S.AWAIT_VALIDATION, _E.RESET): _S.AWAIT_RESET,
        (_S.AWAIT_VALIDATION, _E.VALIDATE): _S.AWAIT_VALIDATION,
    },
)
