"""Stuck clients: no progress with records pending, for longer than all of the client's timeouts, in its own time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as restruct

from harness.model.contract import CRASHED, Fatal
from harness.model.rows import FrameKind
from harness.model.spec import ClientRef
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from harness.plugins.check import Inconclusive
from harness.simulated.generated import spec_of
from harness.simulated.judged import try_spec
from harness.trial.patience import NOT_GIVEN_MS, SLACK_MS, bound_ms
from harness.workloads.produce.profile import producer_config
from suites.checks.history.stuck import CHECK, waiting_when_healed
from testkit.codes import raises_code
from tests.suites.story import stalled as disturbed

pytestmark = pytest.mark.long("simulated trials that stall")

#: The limit for the profile's largest timeout, thirty seconds.
BOUND_MS = 30_000 + SLACK_MS
HEAL_MS = 6_000
TIMED_OUT = ("delivery.timeout.ms", "max.block.ms")


@pytest.fixture
def stalled(story):
    """Record 0 is delivered, records 1 and 2 are called and get no result. The client is closed at ``final_ms``."""

    def told(final_ms: float = HEAL_MS + BOUND_MS + 1, **fields):
        one = story(final_ms=final_ms, end_ms=final_ms + 10_000, **fields)
        one.call(0, 1, 2, at_ms=10)
        one.result(0, 13, 0, one.deliver([0], 0, at_ms=11))
        one.fault("reset", 1_000, 1_500)
        return one

    return told


def test_no_progress_beyond_the_limit_is_stuck(stalled):
    (finding,) = CHECK.run(stalled().evidence())
    assert (finding.anomaly, finding.count) == ("stuck", 2)
    assert finding.params == {"idle_ms": BOUND_MS + 1, "bound_ms": BOUND_MS}
    assert [sample["n"] for sample in finding.samples] == [1, 2]
    assert CHECK.run(stalled(HEAL_MS + BOUND_MS).evidence()) == []


def test_limit_needs_no_particular_setting(stalled):
    without = dict.fromkeys(producer_config(Guarantee.AT_LEAST_ONCE, {}), "it has none")
    (finding,) = CHECK.run(stalled(not_set=without).evidence())
    assert finding.params["bound_ms"] == NOT_GIVEN_MS + SLACK_MS


def test_network_must_have_healed(stalled):
    told = stalled()
    told.fault("latency", 2_000, HEAL_MS + 2)
    assert CHECK.run(told.evidence()) == []


def test_events_that_are_not_progress(stalled):
    """Metadata, connections, and failed records."""
    told = stalled()
    told.other(FrameKind.REQUEST, 20_000)
    told.other(FrameKind.RESPONSE, 20_001)
    told.open(2, 25_000)
    told.result(1, 30_000, outcome="fail", error="gave up")
    (finding,) = CHECK.run(told.evidence())
    assert finding.count == 2


def test_many_short_stalls_of_the_harness_are_subtracted(stalled):
    moments = [at_ms + more_ms for at_ms in range(20_000, 24_000, 1_000) for more_ms in (0, 500)]
    evidence = stalled(HEAL_MS + BOUND_MS + 1_500).evidence()
    with raises_code(Inconclusive, "harness-stalled", of="stuck", stalled_ms=2000):
        CHECK.run(disturbed(evidence, *moments))
    assert CHECK.run(disturbed(evidence, *moments[:4]))


@pytest.mark.parametrize("progress", ["request", "answer", "hold back", "acknowledged"])
def test_events_that_are_progress(stalled, progress):
    told = stalled()
    match progress:
        case "request":
            told.request([1], 0, at_ms=20_000)
        case "answer":
            told.answer(0, -1, at_ms=20_000, error_code=6)
        case "hold back":
            told.answer(0, -1, at_ms=HEAL_MS - 1, error_code=6)
            told.frames[-1] = restruct(told.frames[-1], throttle_ms=5_000)
        case "acknowledged":
            told.result(1, 20_000, 0, told.append([1], 0))
    assert CHECK.run(told.evidence()) == []


def goes_round(told, times=40, error_code=0, late_ms=1, throttle_ms=0):
    """Every second the pending records are sent and answered, by default without an error."""
    for at_ms in range(HEAL_MS + 1, HEAL_MS + 1 + 1_000 * times, 1_000):
        told.request([1, 2], 0, at_ms=at_ms)
        base = -1 if error_code else told.append([1, 2], 0)
        told.answer(0, base, at_ms=at_ms + late_ms, error_code=error_code)
        told.frames[-1] = restruct(told.frames[-1], throttle_ms=throttle_ms)
    return told


def test_endless_sending_without_results_is_a_livelock(stalled):
    (finding,) = CHECK.run(goes_round(stalled()).evidence())
    assert (finding.anomaly, finding.count) == ("livelock", 2)
    assert finding.params == {"idle_ms": BOUND_MS + 1, "bound_ms": BOUND_MS}
    assert "still-pending" in finding.explains
    assert CHECK.run(goes_round(stalled(HEAL_MS + BOUND_MS)).evidence()) == []


@pytest.mark.parametrize(
    ("rounds", "accused"),
    [
        ({"times": 10}, False),
        ({"times": 11}, True),
        ({"error_code": 19}, False),
        ({"late_ms": 60}, True),
    ],
    ids=["a few rounds", "one more", "the brokers store nothing", "answered late"],
)
def test_number_of_rounds_that_are_a_livelock(stalled, rounds, accused):
    assert bool(CHECK.run(goes_round(stalled(), **rounds).evidence())) == accused


def test_response_after_the_request_timeout_does_not_count(stalled):
    told = goes_round(stalled(config={"request.timeout.ms": 50}), late_ms=60)
    assert CHECK.run(told.evidence()) == []


@pytest.mark.parametrize("outcome", ["ok", "fail", "info"])
def test_any_result_ends_a_livelock(stalled, outcome):
    told = goes_round(stalled())
    told.result(1, 20_000, outcome=outcome, error="" if outcome == "ok" else "gave up")
    assert CHECK.run(told.evidence()) == []


def test_shorter_livelock_is_judged_despite_a_longer_pause(stalled):
    told = goes_round(stalled(HEAL_MS + 3 * BOUND_MS))
    told.result(1, HEAL_MS + BOUND_MS + 500, outcome="fail", error="gave up")
    for at_ms in range(HEAL_MS + BOUND_MS, HEAL_MS + 3 * BOUND_MS, 10_000):
        told.request([2], 0, at_ms=at_ms)
        told.answer(0, -1, at_ms=at_ms + 1, error_code=6)
    (finding,) = CHECK.run(told.evidence())
    assert (finding.anomaly, finding.params["idle_ms"]) == ("livelock", BOUND_MS + 500)


@pytest.mark.parametrize(("throttle_ms", "accused"), [(1, False), (0, True)])
def test_throttle_time_is_subtracted(stalled, throttle_ms, accused):
    """Forty milliseconds are subtracted here, and without them the limit is exceeded by one."""
    assert bool(CHECK.run(goes_round(stalled(), throttle_ms=throttle_ms).evidence())) == accused
    later = stalled(HEAL_MS + BOUND_MS + 1_000)
    assert CHECK.run(goes_round(later, throttle_ms=throttle_ms).evidence())


def test_long_throttling_is_not_stuck(stalled):
    told = stalled(HEAL_MS + 2 * BOUND_MS)
    told.answer(0, -1, at_ms=HEAL_MS - 1, error_code=6)
    told.frames[-1] = restruct(told.frames[-1], throttle_ms=BOUND_MS + 5_000)
    assert CHECK.run(told.evidence()) == []


def test_harness_stall_is_subtracted(stalled):
    told = goes_round(stalled(HEAL_MS + BOUND_MS + 3_000))
    with raises_code(Inconclusive, "harness-stalled", of="livelock", stalled_ms=4000):
        CHECK.run(disturbed(told.evidence(), 20_000, 24_000))
    assert CHECK.run(disturbed(told.evidence(), 1_000, 5_000))


def test_stall_seen_twice_is_subtracted_once(stalled):
    told = beats(goes_round(stalled(HEAL_MS + BOUND_MS + 5_500)), but_for=(20_000, 25_000))
    assert CHECK.run(disturbed(told.evidence(), 20_000, 25_000))


def test_doubtful_end_does_not_hide_an_earlier_livelock(stalled):
    """Records circulate for a minute and are then left alone, while the harness stalls."""
    told = goes_round(stalled(HEAL_MS + 60_000 + BOUND_MS + 3_000), times=60)
    (finding,) = CHECK.run(disturbed(told.evidence(), 80_000, 84_000))
    assert finding.anomaly == "livelock"


def test_longer_of_two_stalls_counts(stalled):
    told = stalled(HEAL_MS + 3 * BOUND_MS)
    told.request([1], 0, at_ms=HEAL_MS + 5_000)
    (finding,) = CHECK.run(told.evidence())
    assert finding.params["idle_ms"] == 3 * BOUND_MS - 5_000


def test_no_pending_record_means_not_stuck(stalled):
    told = stalled()
    for n in (1, 2):
        told.result(n, 5_000, outcome="fail", error="gave up")
    assert CHECK.run(told.evidence()) == []


def test_ended_process_is_not_stuck(stalled):
    evidence = stalled().evidence()
    crash = Fatal(seq=9, mono_ns=evidence.history[-1].mono_ns, wall_ns=0, error=CRASHED, message="boom")
    assert CHECK.run(replace(evidence, history=(*evidence.history, crash))) == []


def beats(told, *, but_for: tuple[int, int] = (0, 0)):
    begin, end = but_for
    told.beat(*(at for at in range(0, int(told.final_ms) + 10_000, 1_000) if not begin < at < end))
    return told


def test_suspended_client_is_not_judged(stalled):
    with raises_code(Inconclusive, "client-stalled", stalled_ms=8000):
        CHECK.run(beats(stalled(), but_for=(10_000, 18_000)).evidence())


def test_stall_at_another_time_does_not_excuse(stalled):
    assert CHECK.run(beats(stalled(), but_for=(0, 5_000)).evidence())


def test_stall_leaving_more_than_the_limit_does_not_excuse(stalled):
    told = stalled(HEAL_MS + BOUND_MS + 8_001)
    assert CHECK.run(beats(told, but_for=(10_000, 18_000)).evidence())
    told = stalled(HEAL_MS + BOUND_MS + 8_000)
    with pytest.raises(Inconclusive):
        CHECK.run(beats(told, but_for=(10_000, 18_000)).evidence())


def test_unanswered_request_excuses(stalled):
    told = stalled()
    told.other(FrameKind.REQUEST, 10_000)
    told.other(FrameKind.RESPONSE, 16_000)
    with raises_code(Inconclusive, "broker-stalled", stalled_ms=6000):
        CHECK.run(told.evidence())


def test_wait_beyond_the_clients_own_timeout_is_not_excused(stalled):
    def awaits_for(ms, **fields):
        told = stalled(HEAL_MS + BOUND_MS + 10_000, **fields)
        told.other(FrameKind.REQUEST, HEAL_MS + 1)
        told.other(FrameKind.RESPONSE, HEAL_MS + 1 + ms)
        return told.evidence()

    assert CHECK.run(awaits_for(BOUND_MS + 1))
    with raises_code(Inconclusive, "broker-stalled"):
        CHECK.run(awaits_for(BOUND_MS))
    with raises_code(Inconclusive, "broker-stalled"):
        CHECK.run(awaits_for(BOUND_MS + 1, not_set={"request.timeout.ms": "it has none"}))


def test_overlapping_stalls_count_once(stalled):
    told = stalled(HEAL_MS + BOUND_MS + 6_001)
    for conn in (1, 2):
        told.other(FrameKind.REQUEST, 10_000, conn)
        told.other(FrameKind.RESPONSE, 16_000, conn)
    assert CHECK.run(told.evidence())


def test_situation_arises_if_a_record_waited_after_the_last_fault(stalled, story):
    assert waiting_when_healed(stalled().evidence()) == 2
    calm = story()
    calm.call(0, at_ms=10)
    assert waiting_when_healed(calm.evidence()) == 0


@given(
    st.dictionaries(st.sampled_from(TIMED_OUT), st.integers(1, 100_000)), st.sets(st.sampled_from(TIMED_OUT))
)
def test_limit_is_at_least_the_largest_timeout(config, not_set):
    lacking = dict.fromkeys(not_set, "")
    bound = bound_ms(config, lacking)
    for name in config:
        assert bound >= (NOT_GIVEN_MS if name in not_set else config[name]) + SLACK_MS
    assert bound <= max(NOT_GIVEN_MS, *config.values(), 0) + SLACK_MS


@pytest.mark.parametrize("seed", range(10))
def test_stalling_mutant_is_stuck_in_virtual_time(seed):
    scenario = registry.scenario("network/reset")

    def verdict_of(name):
        ref = ClientRef(name, registry.client(name).default_version)
        return try_spec(spec_of(scenario, ref, seed, "scripted:4.3.1x1"))[1]

    verdict = verdict_of("mutant-stalls_after_reset")
    assert (verdict.verdict, verdict.code) == ("fail", "stuck")
    assert verdict_of("reference").verdict == "pass"


def test_pending_records_follow_from_being_stuck(stalled):
    """Record 3 is called after the client has recovered, and has no result either: a separate cause."""
    told = stalled(HEAL_MS + BOUND_MS + 5_000)
    (finding,) = CHECK.run(told.evidence())
    assert finding.explains == ("still-pending", "hung-call")

    told.deliver([1], 0, at_ms=HEAL_MS + BOUND_MS + 1_000)
    (finding,) = CHECK.run(told.evidence())
    assert finding.explains == ("still-pending", "hung-call")

    told.call(3, at_ms=HEAL_MS + BOUND_MS + 2_000)
    (finding,) = CHECK.run(told.evidence())
    assert finding.explains == ("hung-call",)
