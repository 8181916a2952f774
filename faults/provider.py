"""The provider of the built-in kinds of fault."""

from __future__ import annotations

from harness.plugins.providers import OneFileEach

FAULTS = OneFileEach(f"{__package__}.kinds", "FAULT")
