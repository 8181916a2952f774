"""The tasks for a client under test, with one package for each workload."""
