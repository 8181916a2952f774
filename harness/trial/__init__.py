"""The parts that live and simulated trials share."""
