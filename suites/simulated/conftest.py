"""How many examples each law is tried with: Hypothesis' own profiles, ``--hypothesis-profile=thorough`` for many."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("quick", max_examples=10)
settings.register_profile("suite", max_examples=60)
settings.register_profile("thorough", max_examples=2_000)
