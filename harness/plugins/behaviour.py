"""A behaviour of Kafka clients, by whose id checks say what they judge.

A distribution registers its behaviours under the entry-point group ``kafka_trial.behaviours``: a function without
arguments that returns them by id.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.verdicts import Level


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One behaviour that can be judged: a unique ``id``, its ``level``, a sentence, and the ``source`` that states it.

    MUST is for rules of the protocol and promises of safety: a client that differs is wrong. SHOULD is for policy of
    the Java client: a client that differs is different.
    """

    id: str
    level: Level
    statement: str
    source: str
