"""What a client under test is asked to do; one package for each workload."""
