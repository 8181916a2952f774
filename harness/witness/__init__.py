"""The witness: a relay between Toxiproxy and a broker that records every Kafka frame which passes through it."""

from harness.witness.lane import WitnessLane

__all__ = ["WitnessLane"]
