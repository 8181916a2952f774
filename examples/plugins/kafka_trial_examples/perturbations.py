"""Defects that are put into the evidence of lookups that passed: the check must find each of them."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as changed

from kafka_trial.api import AnyEvent, Evidence, OpComplete, Perturbation
from kafka_trial_examples.lookup.accounting import expected


def _answered(evidence: Evidence) -> list[int]:
    return list(evidence.acknowledged)


def _with_answer(evidence: Evidence, n: int, value: str) -> Evidence:
    """Return the evidence in which the client reports this value for lookup ``n``."""

    def told(event: AnyEvent) -> AnyEvent:
        if not isinstance(event, OpComplete) or n not in event.records:
            return event
        values = [value if each == n else old for each, old in zip(event.records, event.value, strict=True)]
        return changed(event, value=values)

    return replace(evidence, history=tuple(map(told, evidence.history)))


def _one_less(evidence: Evidence, n: int) -> Evidence:
    return _with_answer(evidence, n, str(expected(evidence) - 1))


def _in_words(evidence: Evidence, n: int) -> Evidence:
    return _with_answer(evidence, n, "three")


PERTURBATIONS = (
    Perturbation(
        "one-partition-too-few",
        channels=frozenset({"history"}),
        defect="answers one partition too few, once",
        caught_by=("wrong-partition-count",),
        places=_answered,
        apply=_one_less,
        workloads=frozenset({"lookup"}),
    ),
    Perturbation(
        "count-in-words",
        channels=frozenset({"history"}),
        defect="answers with a word, once",
        caught_by=("unreadable-partition-count",),
        places=_answered,
        apply=_in_words,
        workloads=frozenset({"lookup"}),
    ),
)
