"""What the live program and the simulated client build in the same way."""

from __future__ import annotations

from harness.model.contract import Configure
from kafka_trial_examples.client.asking import Asking, Dial
from kafka_trial_examples.client.kind import MUTANT
from kafka_trial_examples.client.lookup_client import LookupClient, one_too_many, true_count
from kafka_trial_examples.client.voice import Voice
from kafka_trial_examples.lookup.kind import PROFILE


def built(name: str, command: Configure, voice: Voice, dial: Dial) -> LookupClient:
    """Return the configured client, or the mutant if that is its name."""
    known = {**PROFILE, **voice.configured(command)}
    report = one_too_many if name == MUTANT else true_count
    return LookupClient(Asking(known, dial), int(known["default.api.timeout.ms"]), voice, report)
