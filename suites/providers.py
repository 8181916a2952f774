"""Where the built-in scenarios and checks are found: by the names that they carry, in the modules of their packages."""

from __future__ import annotations

from harness.plugins.check import Check
from harness.plugins.providers import Collected
from harness.plugins.scenario import Scenario

SCENARIOS = Collected(f"{__package__}.scenarios", Scenario)
CHECKS = Collected(f"{__package__}.checks", Check)
