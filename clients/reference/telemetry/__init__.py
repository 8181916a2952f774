"""Metrics and the trace of decisions."""
