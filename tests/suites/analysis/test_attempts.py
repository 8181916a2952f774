"""Which request produced which batch in the log."""

from __future__ import annotations

from suites.analysis.attempts import BatchPlace, attempts, origins, sent_again


def test_answered_attempt_has_its_response_and_the_end_of_its_connection(story):
    told = story()
    told.deliver([0, 1], partition=1, at_ms=10)
    told.close(1, at_ms=50)

    (attempt,) = attempts(told.evidence())
    assert attempt.accepted and attempt.place == (1, 0)
    assert (attempt.answered_ns - attempt.sent_ns, attempt.closed_ns - attempt.sent_ns) == (
        1_000_000,
        40_000_000,
    )


def test_attempt_without_a_response_is_matched_by_its_bytes(story):
    told = story()
    told.request([0, 1], partition=0, at_ms=10)
    told.append([0, 1], partition=0)
    told.close(1, at_ms=11)
    told.deliver([0, 1], partition=0, at_ms=80, conn=2)
    evidence = told.evidence()
    made = attempts(evidence)

    assert origins(evidence) == {BatchPlace(0, 0): made[0], BatchPlace(0, 2): made[1]}
    assert sent_again(made) == {made[0]: made[1]}


def test_attempt_without_a_response_is_matched_by_sequence_if_bytes_differ(story):
    told = story()
    told.request([0], partition=0, at_ms=10, sequence=(7, 2, 40))
    told.request([1], partition=0, at_ms=11, sequence=(7, 2, 41))
    told.append([1], partition=0, producer_id=7, producer_epoch=2, sequence=41, batch_crc=5)
    evidence = told.evidence()
    made = attempts(evidence)

    assert origins(evidence) == {BatchPlace(0, 0): made[1]}


def test_record_count_matches_only_if_the_broker_rewrites_batches(story):
    told = story()
    told.request([0, 1], partition=0, at_ms=10)
    told.append([0, 1], partition=0, batch_crc=5)
    evidence = told.evidence()
    assert origins(evidence) == {}

    told.request([2], partition=1, at_ms=20)
    told.append([2], partition=1, batch_crc=6)
    told.answer(1, 0, at_ms=21)
    evidence = told.evidence()
    made = attempts(evidence)
    assert origins(evidence) == {BatchPlace(0, 0): made[0], BatchPlace(1, 0): made[1]}


def test_refused_attempt_matches_no_other_bytes(story):
    told = story()
    told.request([0], partition=0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=7)
    told.append([1], partition=0)
    evidence = told.evidence()

    assert not attempts(evidence)[0].accepted
    assert origins(evidence) == {}


def test_attempt_matches_at_most_one_batch(story):
    told = story()
    told.request([0], partition=0, at_ms=10)
    told.append([0], partition=0)
    told.append([0], partition=0)
    evidence = told.evidence()

    assert list(origins(evidence)) == [BatchPlace(0, 0)]


def test_response_without_an_offset_leaves_matching_by_bytes(story):
    told = story()
    told.request([0], partition=0, at_ms=10)
    told.append([0], partition=0)
    told.answer(0, -1, at_ms=11)
    evidence = told.evidence()

    assert list(origins(evidence)) == [BatchPlace(0, 0)]


def test_response_before_topic_recreation_matches_nothing(story):
    told = story()
    told.fault("topic_recreate", 100, 1_100)
    told.request([0], partition=0, at_ms=10)
    told.answer(0, 0, at_ms=11)
    told.deliver([1], partition=0, at_ms=1_200)
    evidence = told.evidence()
    _, second = attempts(evidence)

    assert origins(evidence) == {BatchPlace(0, 0): second}
