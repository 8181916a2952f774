"""The transactions workload: producers write records in transactions, and commit or abort them as the plan says."""
