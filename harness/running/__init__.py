"""Live trials: lanes, clusters, faults and clients, until the evidence is complete."""
