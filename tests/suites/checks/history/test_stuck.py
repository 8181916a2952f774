"""Who is stuck: no progress with records pending, for longer than any timeout of the client's own, in its own time."""

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

#: What the profile's largest timeout, of thirty seconds, allows.
BOUND_MS = 30_000 + SLACK_MS
HEAL_MS = 6_000
TIMED_OUT = ("delivery.timeout.ms", "max.block.ms")


@pytest.fixture
def stalled(story):
    """Record 0 is delivered, records 1 and 2 are called and never heard of again; closed at ``final_ms``."""

    def told(final_ms: float = HEAL_MS + BOUND_MS + 1, **fields):
        one = story(final_ms=final_ms, end_ms=final_ms + 10_000, **fields)
        one.call(0, 1, 2, at_ms=10)
        one.result(0, 13, 0, one.deliver([0], 0, at_ms=11))
        one.fault("reset", 1_000, 1_500)
        return one

    return told


def test_no_progress_for_longer_than_the_bound(stalled):
    (finding,) = CHECK.run(stalled().evidence())
    assert (finding.anomaly, finding.count) == ("stuck", 2)
    assert finding.params == {"idle_ms": BOUND_MS + 1, "bound_ms": BOUND_MS}
    assert [sample["n"] for sample in finding.samples] == [1, 2]
    assert CHECK.run(stalled(HEAL_MS + BOUND_MS).evidence()) == []


def test_whichever_settings_it_lacks(stalled):
    without = dict.fromkeys(producer_config(Guarantee.AT_LEAST_ONCE, {}), "it has none")
    (finding,) = CHECK.run(stalled(not_set=without).evidence())
    assert finding.params["bound_ms"] == NOT_GIVEN_MS + SLACK_MS


def test_the_network_has_to_have_healed(stalled):
    told = stalled()
    told.fault("latency", 2_000, HEAL_MS + 2)
    assert CHECK.run(told.evidence()) == []


def test_what_is_no_progress(stalled):
    """Metadata, connections, and records that fail."""
    told = stalled()
    told.other(FrameKind.REQUEST, 20_000)
    told.other(FrameKind.RESPONSE, 20_001)
    told.open(2, 25_000)
    told.result(1, 30_000, outcome="fail", error="gave up")
    (finding,) = CHECK.run(told.evidence())
    assert finding.count == 2


@pytest.mark.parametrize("progress", ["request", "answer", "hold back", "acknowledged"])
def test_what_is_progress(stalled, progress):
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
    """Every second the pending records are sent and answered; as written, if there is no error."""
    for at_ms in range(HEAL_MS + 1, HEAL_MS + 1 + 1_000 * times, 1_000):
        told.request([1, 2], 0, at_ms=at_ms)
        base = -1 if error_code else told.append([1, 2], 0)
        told.answer(0, base, at_ms=at_ms + late_ms, error_code=error_code)
        told.frames[-1] = restruct(told.frames[-1], throttle_ms=throttle_ms)
    return told


def test_who_sends_for_ever_and_has_no_result_is_in_a_livelock(stalled):
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
def test_what_is_a_livelock(stalled, rounds, accused):
    assert bool(CHECK.run(goes_round(stalled(), **rounds).evidence())) == accused


def test_answers_behind_the_request_timeout_are_none(stalled):
    told = goes_round(stalled(config={"request.timeout.ms": 50}), late_ms=60)
    assert CHECK.run(told.evidence()) == []


@pytest.mark.parametrize("outcome", ["ok", "fail", "info"])
def test_a_result_of_any_kind_ends_a_livelock(stalled, outcome):
    told = goes_round(stalled())
    told.result(1, 20_000, outcome=outcome, error="" if outcome == "ok" else "gave up")
    assert CHECK.run(told.evidence()) == []


def test_a_shorter_time_without_results_is_judged_beside_a_longer_one_with_few_rounds(stalled):
    told = goes_round(stalled(HEAL_MS + 3 * BOUND_MS))
    told.result(1, HEAL_MS + BOUND_MS + 500, outcome="fail", error="gave up")
    for at_ms in range(HEAL_MS + BOUND_MS, HEAL_MS + 3 * BOUND_MS, 10_000):
        told.request([2], 0, at_ms=at_ms)
        told.answer(0, -1, at_ms=at_ms + 1, error_code=6)
    (finding,) = CHECK.run(told.evidence())
    assert (finding.anomaly, finding.params["idle_ms"]) == ("livelock", BOUND_MS + 500)


@pytest.mark.parametrize(("throttle_ms", "accused"), [(1, False), (0, True)])
def test_for_as_long_as_an_answer_says_the_client_holds_back(stalled, throttle_ms, accused):
    """The time for which it does is taken off: forty milliseconds here, and one too much without them."""
    assert bool(CHECK.run(goes_round(stalled(), throttle_ms=throttle_ms).evidence())) == accused
    later = stalled(HEAL_MS + BOUND_MS + 1_000)
    assert CHECK.run(goes_round(later, throttle_ms=throttle_ms).evidence())


def test_who_holds_back_for_longer_than_the_bound_is_not_stuck(stalled):
    told = stalled(HEAL_MS + 2 * BOUND_MS)
    told.answer(0, -1, at_ms=HEAL_MS - 1, error_code=6)
    told.frames[-1] = restruct(told.frames[-1], throttle_ms=BOUND_MS + 5_000)
    assert CHECK.run(told.evidence()) == []


def test_what_the_harness_stalled_is_taken_off(stalled):
    told = goes_round(stalled(HEAL_MS + BOUND_MS + 3_000))
    with raises_code(Inconclusive, "harness-stalled", of="livelock", stalled_ms=4000):
        CHECK.run(disturbed(told.evidence(), 20_000, 24_000))
    assert CHECK.run(disturbed(told.evidence(), 1_000, 5_000))


def test_one_stall_that_two_have_seen_is_taken_off_once(stalled):
    told = beats(goes_round(stalled(HEAL_MS + BOUND_MS + 5_500)), but_for=(20_000, 25_000))
    assert CHECK.run(disturbed(told.evidence(), 20_000, 25_000))


def test_a_doubtful_end_hides_no_livelock_before_it(stalled):
    """Records go round for a minute and are then left alone, in a time in which the harness stalls."""
    told = goes_round(stalled(HEAL_MS + 60_000 + BOUND_MS + 3_000), times=60)
    (finding,) = CHECK.run(disturbed(told.evidence(), 80_000, 84_000))
    assert finding.anomaly == "livelock"


def test_the_client_may_stall_twice_and_the_longer_time_counts(stalled):
    told = stalled(HEAL_MS + 3 * BOUND_MS)
    told.request([1], 0, at_ms=HEAL_MS + 5_000)
    (finding,) = CHECK.run(told.evidence())
    assert finding.params["idle_ms"] == 3 * BOUND_MS - 5_000


def test_nothing_pending_is_no_stall(stalled):
    told = stalled()
    for n in (1, 2):
        told.result(n, 5_000, outcome="fail", error="gave up")
    assert CHECK.run(told.evidence()) == []


def test_a_process_that_ended_itself_is_not_stuck(stalled):
    evidence = stalled().evidence()
    crash = Fatal(seq=9, mono_ns=evidence.history[-1].mono_ns, wall_ns=0, error=CRASHED, message="boom")
    assert CHECK.run(replace(evidence, history=(*evidence.history, crash))) == []


def beats(told, *, but_for: tuple[int, int] = (0, 0)):
    begin, end = but_for
    told.beat(*(at for at in range(0, int(told.final_ms) + 10_000, 1_000) if not begin < at < end))
    return told


def test_a_client_that_was_not_running_meanwhile_is_not_judged(stalled):
    with raises_code(Inconclusive, "client-stalled", stalled_ms=8000):
        CHECK.run(beats(stalled(), but_for=(10_000, 18_000)).evidence())


def test_what_stalled_at_another_time_excuses_nothing(stalled):
    assert CHECK.run(beats(stalled(), but_for=(0, 5_000)).evidence())


def test_a_stall_that_leaves_more_than_the_bound_excuses_nothing(stalled):
    told = stalled(HEAL_MS + BOUND_MS + 8_001)
    assert CHECK.run(beats(told, but_for=(10_000, 18_000)).evidence())
    told = stalled(HEAL_MS + BOUND_MS + 8_000)
    with pytest.raises(Inconclusive):
        CHECK.run(beats(told, but_for=(10_000, 18_000)).evidence())


def test_a_broker_that_left_a_request_unanswered_meanwhile(stalled):
    told = stalled()
    told.other(FrameKind.REQUEST, 10_000)
    told.other(FrameKind.RESPONSE, 16_000)
    with raises_code(Inconclusive, "broker-stalled", stalled_ms=6000):
        CHECK.run(told.evidence())


def test_a_client_that_waits_for_an_answer_beyond_its_own_bound_is_not_excused_by_the_broker(stalled):
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


def test_stalls_that_overlap_count_once(stalled):
    told = stalled(HEAL_MS + BOUND_MS + 6_001)
    for conn in (1, 2):
        told.other(FrameKind.REQUEST, 10_000, conn)
        told.other(FrameKind.RESPONSE, 16_000, conn)
    assert CHECK.run(told.evidence())


def test_it_arises_where_a_record_waited_when_the_last_fault_was_over(stalled, story):
    assert waiting_when_healed(stalled().evidence()) == 2
    calm = story()
    calm.call(0, at_ms=10)
    assert waiting_when_healed(calm.evidence()) == 0


@given(
    st.dictionaries(st.sampled_from(TIMED_OUT), st.integers(1, 100_000)), st.sets(st.sampled_from(TIMED_OUT))
)
def test_the_bound_is_no_shorter_than_any_timeout_of_the_clients(config, not_set):
    lacking = dict.fromkeys(not_set, "")
    bound = bound_ms(config, lacking)
    for name in config:
        assert bound >= (NOT_GIVEN_MS if name in not_set else config[name]) + SLACK_MS
    assert bound <= max(NOT_GIVEN_MS, *config.values(), 0) + SLACK_MS


@pytest.mark.parametrize("seed", range(10))
def test_a_mutant_that_stalls_is_stuck_in_virtual_time(seed):
    scenario = registry.scenario("network/reset")

    def verdict_of(name):
        ref = ClientRef(name, registry.client(name).default_version)
        return try_spec(spec_of(scenario, ref, seed, "scripted:4.3.1x1"))[1]

    verdict = verdict_of("mutant-stalls_after_reset")
    assert (verdict.verdict, verdict.code) == ("fail", "stuck")
    assert verdict_of("reference").verdict == "pass"


def test_what_never_ends_follows_from_it_where_it_was_there_before_it_was_over(stalled):
    """Record 3 is handed over when the client has come back, and has no result either: a cause of its own."""
    told = stalled(HEAL_MS + BOUND_MS + 5_000)
    (finding,) = CHECK.run(told.evidence())
    assert finding.explains == ("still-pending", "hung-call")

    told.deliver([1], 0, at_ms=HEAL_MS + BOUND_MS + 1_000)
    (finding,) = CHECK.run(told.evidence())
    assert finding.explains == ("still-pending", "hung-call")

    told.call(3, at_ms=HEAL_MS + BOUND_MS + 2_000)
    (finding,) = CHECK.run(told.evidence())
    assert finding.explains == ("hung-call",)
