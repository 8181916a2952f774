"""Trials with outcomes, made up or drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.rows import Availability, TrialVerdict

#: Every field of an availability that a stored verdict can have, as hostile as its types allow.
INT64 = st.integers(-(2**63), 2**63 - 1)
HOSTILE = st.builds(
    Availability,
    **dict.fromkeys(["offered", "acked", "failed", "unknown"], INT64),
    **dict.fromkeys(
        ["longest_gap_ms", "first_ack_ms", "steady_ack_ms", "p50_ns", "p99_ns", "requests", "request_bytes"],
        st.none() | INT64,
    ),
    recovered=st.none() | st.booleans(),
)


@st.composite
def _availabilities(draw: st.DrawFn) -> Availability:
    """An availability that a trial can have."""
    acked, failed, unknown = (draw(st.integers(0, 500)) for _ in range(3))
    recovered = draw(st.none() | st.booleans())
    return Availability(
        offered=acked + failed + unknown,
        acked=acked,
        failed=failed,
        unknown=unknown,
        longest_gap_ms=draw(st.none() | st.integers(0, 60_000)),
        steady_ack_ms=draw(st.integers(0, 60_000)) if recovered else None,
        recovered=recovered,
        p50_ns=draw(st.none() | st.integers(0, 10**10)),
        requests=draw(st.none() | st.integers(0, 10_000)),
    )


AVAILABILITIES = _availabilities()


@pytest.fixture(scope="session")
def trial(verdict: Callable[..., TrialVerdict]) -> Callable[..., TrialVerdict]:
    """Return a trial in which ``given_up`` of ``offered`` records were given up, the others acknowledged."""

    def made(
        given_up: int = 0,
        offered: int = 100,
        counts: dict[str, int] | None = None,
        availability: dict[str, Any] | Availability | None = None,
        **of: Any,
    ) -> TrialVerdict:
        if not isinstance(availability, Availability):
            told = {"offered": offered, "acked": offered - given_up, "failed": given_up}
            availability = Availability(**told | (availability or {}))
        return replace(verdict(**of), availability=availability, counts=counts or {})

    return made


@pytest.fixture(scope="session")
def recovering(trial: Callable[..., TrialVerdict]) -> Callable[..., TrialVerdict]:
    """Return a trial that recovered after ``after_ms``; never for None."""

    def made(after_ms: int | None, **of: Any) -> TrialVerdict:
        told = {"steady_ack_ms": after_ms, "recovered": after_ms is not None}
        return trial(availability=told, **of)

    return made


@pytest.fixture(scope="session")
def availabilities() -> st.SearchStrategy[Availability]:
    return AVAILABILITIES


@pytest.fixture(scope="session")
def hostile() -> st.SearchStrategy[Availability]:
    return HOSTILE
