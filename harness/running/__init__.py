"""Live trials: lanes, clusters, faults and clients, from the plan to complete evidence."""
