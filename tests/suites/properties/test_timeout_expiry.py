"""Properties of the suite timeout expiry: the reference client keeps each, and a wrong clock breaks it."""

from __future__ import annotations

import pytest

from clients.seeding.table import components_of
from suites.properties.property import properties, try_property

MINE = {id.split("/")[1]: prop for id, prop in properties().items() if prop.suite == "timeout_expiry"}
ENOUGH = 150

COVERED = (
    "NET-CON-05 NET-CON-06 NET-CON-07 NET-CON-08 NET-CON-12 NET-CON-14 NET-CON-15 NET-TMO-01 NET-TMO-02 NET-TMO-03 "
    "NET-TMO-04 NET-TMO-05 NET-TMO-06 NET-INF-06 MET-01 MET-02 MET-03 MET-08 MET-10 MET-11 MET-12 MET-13 MET-14 "
    "MET-16 PRD-ACC-02 PRD-ACC-03 PRD-ACC-04 PRD-ACC-07 PRD-ACC-09 PRD-SPL-03 PRD-EXP-01 PRD-EXP-02 PRD-EXP-03 "
    "PRD-EXP-05 PRD-EXP-06 PRD-EXP-07 PRD-CLS-01 PRD-CLS-03 PRD-CLS-04 PRD-CLS-07 PRD-FIN-01 PRD-SND-13 "
    "CSM-API-02 CSM-API-04 CSM-API-05 CSM-GRP-01 CSM-GRP-03 CSM-GRP-05 CSM-GRP-08 CSM-GRP-09"
)

#: A client with one clock defect, and the property that it breaks.
WRONG = {
    "forgets_retry_backoff": "what_must_wait_waits",
    "leaderless_batches_never_expire": "a_batch_without_a_leader_waits_and_ages",
    "sleeps_past_expiry": "every_record_has_a_result_in_time",
    "sleeps_past_linger": "a_batch_lingers_and_then_goes",
    "sleeps_past_slow_requests": "a_slow_request_ends_its_connection",
    "keeps_idle_connections": "an_idle_connection_is_closed",
    "set_up_time_does_not_grow": "a_set_up_without_an_end_is_given_up",
    "caps_backoff_before_jitter": "each_failure_in_a_row_waits_longer",
}


@pytest.mark.parametrize(("mutant", "name"), WRONG.items())
def test_wrong_clock_is_caught(mutant, name):
    assert try_property(MINE[name], components_of(mutant), ENOUGH) is not None


def test_every_deadline_of_the_catalogue_has_a_property():
    covered = {requirement for prop in MINE.values() for requirement in prop.requirements}
    assert set(COVERED.split()) <= covered
