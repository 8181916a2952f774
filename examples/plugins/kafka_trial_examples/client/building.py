"""What the live program and the simulated client build in the same way."""

from __future__ import annotations

from kafka_trial.api import Configure
from kafka_trial_examples.client.asking import Asking, Dial
from kafka_trial_examples.client.kind import NAME
from kafka_trial_examples.client.lookup_client import LookupClient, one_too_many, true_count
from kafka_trial_examples.client.voice import Voice
from kafka_trial_examples.lookup.kind import PROFILE


def built(name: str, command: Configure, voice: Voice, dial: Dial) -> LookupClient:
    """Return the configured client. Under any other name than its own it is the mutant."""
    known = {**PROFILE, **voice.configured(command)}
    report = true_count if name == NAME else one_too_many
    return LookupClient(Asking(known, dial), int(known["default.api.timeout.ms"]), voice, report)
