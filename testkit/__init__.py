"""Tools for the project's tests, benchmarks and docs. Not part of the wheel."""
