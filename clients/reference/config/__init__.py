"""Settings under their Java names, parsed and checked."""
