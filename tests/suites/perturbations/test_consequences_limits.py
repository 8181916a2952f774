"""Findings just outside a cause's consequences are reported as separate causes."""

from __future__ import annotations

import pytest

from harness.judging.fingerprint import causes
from harness.model.verdicts import Guarantee
from harness.simulated.judged import judged
from suites.perturbations.limits.consequences import PERTURBATIONS
from suites.perturbations.limits.sequences import PERTURBATIONS as OF_SEQUENCES
from suites.perturbations.limits.settings import PERTURBATIONS as OF_SETTINGS
from suites.perturbations.perturbation import drawn
from suites.perturbations.trying import plain
from tests.suites.perturbations.conftest import trial

pytestmark = pytest.mark.long("judges many changed trials")

KINDS = {each.name: each for each in (*PERTURBATIONS, *OF_SEQUENCES, *OF_SETTINGS)}


def accused(evidence):
    """Return the anomalies of the causes, and the consequences of each."""
    return {each.anomaly: set(each.explains) for each in causes([judged(evidence)])}


@pytest.mark.parametrize(
    ("name", "cause", "beside"),
    [
        ("lost-beside-a-reuse", "sequence-reused", "lost"),
        ("doubled-beside-a-renumbered-batch", "sequence-changed", "duplicate"),
        ("no-result-after-stuck", "stuck", "still-pending"),
        ("record-misdated-beside-a-batch", "timestamps-outside", "record-misdated"),
    ],
)
def test_unrelated_finding_is_a_separate_cause(name, cause, beside):
    evidence = plain(trial("produce/calm", Guarantee.IDEMPOTENT))
    [place] = drawn(KINDS[name], evidence, seed=1, tries=1)

    found = accused(KINDS[name].apply(evidence, place))
    assert {cause, beside} <= found.keys()
    assert beside not in found[cause]


@pytest.mark.parametrize(
    ("name", "cause", "follows"),
    [
        ("dated-shortly-before-its-life", "timestamps-outside", "record-misdated"),
        ("sequence-changed-in-its-epoch", "sequence-changed", "duplicate"),
    ],
)
def test_consequence_is_not_a_cause(name, cause, follows):
    evidence = plain(trial("produce/calm", Guarantee.IDEMPOTENT))
    [place] = drawn(KINDS[name], evidence, seed=1, tries=1)

    assert accused(KINDS[name].apply(evidence, place)) == {cause: {follows}}
