"""Hypothesis in all tests: no deadlines, for a busy machine is no defect; what is slow shows in ``--durations``.

How much is tried is the profile's: ``--hypothesis-profile=quick`` for the fast tier, ``thorough`` for a night.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

_ANY_MACHINE: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("quick", max_examples=10, **_ANY_MACHINE)
settings.register_profile("usual", max_examples=60, **_ANY_MACHINE)
settings.register_profile("thorough", max_examples=2_000, **_ANY_MACHINE)
settings.load_profile("usual")
