"""Hypothesis here: no deadlines, for a busy machine is no defect; what is slow shows in ``--durations``."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("wire", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wire")
