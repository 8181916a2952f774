"""Every scenario, as in ``suites/live``."""

from suites.live.test_scenarios import test_scenario

__all__ = ["test_scenario"]
