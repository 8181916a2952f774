"""A record in the wrong topic, of the wrong producer or of the wrong size is found in loads that have several."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest
from msgspec.structs import replace as changed

from harness.judging.completeness import lacking
from harness.model.verdicts import Guarantee, Verdict
from harness.planning import own_load, selection
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID, judged
from harness.simulated.trial import SimulatedTrial
from suites.perturbations.loads import PERTURBATIONS
from suites.perturbations.perturbation import drawn

LOADS = {
    "producers and topics": "records=240,size=150..400,producers=3,topics=2",
    "producers": "records=240,size=100:1/300:2,producers=2",
    "topics": "records=240,size=lognormal:200:0.5,topics=3,keys=9,skew=1.1",
}


@cache
def trial(load: str):
    """The evidence of the reference client under a load."""
    scenario = replace(registry.scenario("produce/calm"), guarantees=(Guarantee.IDEMPOTENT,))
    [loaded] = selection.loaded([scenario], own_load.parsed([load]))
    [ref] = selection.clients(["reference"], ())
    return SimulatedTrial(spec_of(loaded, ref, 5, "scripted:4.3.1x1"), RUN_ID).run()


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_a_correct_client_passes_under_a_load(load):
    verdict = judged(trial(load))
    assert (verdict.verdict, verdict.counts["acked"]) == (Verdict.PASS, 240)
    assert verdict.counts["in_log"] == 240


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
@pytest.mark.parametrize("kind", PERTURBATIONS, ids=lambda kind: kind.name)
def test_a_defect_that_fits_a_load_is_found(kind, load):
    evidence = trial(load)
    needs = {"in-another-topic": "topics", "of-another-producer": "producers"}.get(kind.name, "")
    places = drawn(kind, evidence, seed=1, tries=3)
    assert bool(places) == (needs in load)
    for place in places:
        defective = kind.apply(evidence, place)
        assert lacking(defective) is None
        verdict = judged(defective)
        found = {each.anomaly for one in verdict.requirements for each in one.findings}
        assert verdict.verdict == Verdict.FAIL
        assert found & set(kind.caught_by)
        messages = {each.message for one in verdict.requirements for each in one.findings}
        of, topic = (
            r"of p[123]" if "producers" in load else "",
            r"in topic [123]" if "topics" in load else "",
        )
        assert all(re.search(rf"\({of}{' ' if of and topic else ''}{topic}\)$", text) for text in messages)


def test_requests_of_no_known_producer_are_not_judged():
    evidence = trial(LOADS["producers"])
    strange = tuple(
        changed(frame, client_id="somebody") if frame.client_id else frame for frame in evidence.frames
    )
    verdict = judged(replace(evidence, frames=strange))
    assert (verdict.verdict, verdict.code) == (Verdict.NOT_EXERCISED, "producers-not-told-apart")
