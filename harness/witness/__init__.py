"""The witness: a relay between Toxiproxy and a broker that records every Kafka frame which really passed."""

from harness.witness.lane import WitnessLane
from harness.witness.trigger import TriggerCounter, matches

__all__ = ["TriggerCounter", "WitnessLane", "matches"]
