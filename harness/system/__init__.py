"""Processes, ports, clocks and the machine's resources."""
