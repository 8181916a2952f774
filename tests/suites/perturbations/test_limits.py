"""Every excuse of a check has a perturbation just beyond its limit, or is listed with a reason."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Guarantee
from harness.plugins import registry
from harness.simulated.judged import judged
from suites.analysis.excuses import GRANTED, grants
from suites.perturbations.limits.duplicates.again import OVER_MS
from suites.perturbations.limits.scene import MORE_MS, During, Scene, Stage, lead_ms, spots, timeout_ms
from suites.perturbations.limits.table import LIMITS, OPEN
from suites.perturbations.table import perturbations
from suites.perturbations.trying import plain
from tests.suites.perturbations.conftest import trial


def without_limit():
    """Return the excuses that have no entry for their limit."""
    registry.checks()
    return set(GRANTED) - set(LIMITS) - set(OPEN)


def test_every_excuse_has_a_limit():
    assert without_limit() == set()


def test_new_excuse_has_no_limit(monkeypatch):
    registry.checks()
    monkeypatch.setitem(GRANTED, "bad-weather", set())

    @grants("bad-weather")
    def forgive():
        """Use the excuse."""

    assert without_limit() == {"bad-weather"}
    assert len(GRANTED["bad-weather"]) == 1


def test_every_limit_belongs_to_an_existing_excuse():
    registry.checks()
    assert (LIMITS.keys() | OPEN.keys()) <= GRANTED.keys()
    assert not LIMITS.keys() & OPEN.keys()


def test_every_limit_is_a_perturbation():
    assert {name for names in LIMITS.values() for name in names} <= perturbations().keys()
    assert all(LIMITS.values()) and all(OPEN.values())


INSIDE = {
    "its request has timed out": lambda e: Scene(timeout_ms(e) + 50, answered_ms=timeout_ms(e) + 20),
    "its connection ended with the answer": lambda e: Scene(
        200, closed_ms=60, faults=(During("disconnect", 0, MORE_MS),)
    ),
    "its answer was lost": lambda e: Scene(
        OVER_MS + 200, closed_ms=OVER_MS, faults=(During("dropped_response", -10, MORE_MS),)
    ),
    "its request was held": lambda e: Scene(
        MORE_MS, faults=(During("bandwidth", 600 - lead_ms(e), 5, (("upstream_bytes_per_s", 1_000),)),)
    ),
    "the client still recovers": lambda e: Scene(
        200, answered_ms=2, closed_ms=1, faults=(During("dropped_response", -900, -600),)
    ),
}


@pytest.mark.long("judges many changed trials")
@pytest.mark.parametrize("why", INSIDE)
def test_scene_within_an_excuse_is_not_unexplained(why):
    """The scenes are those of the perturbations, so only the limit makes the difference."""
    evidence = plain(trial("produce/calm", Guarantee.AT_LEAST_ONCE))
    spot = spots(evidence)[1]
    verdict = judged(Stage(evidence, spot).play(INSIDE[why](evidence)))
    found = {each.anomaly for ruling in verdict.requirements for each in ruling.findings}
    assert found.isdisjoint({"unexplained-duplicate", "avoidable-duplicate"})
