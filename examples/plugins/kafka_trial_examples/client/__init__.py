"""The client of the lookup workload: its logic, its two ways to reach brokers, and its program."""
