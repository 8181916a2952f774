"""The witness: a relay between Toxiproxy and a broker that records every Kafka frame which passes through it."""

from harness.wire import kio_types as kio_types
from harness.witness.lane import WitnessLane

__all__ = ["WitnessLane"]
