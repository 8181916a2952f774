"""Tools for our own tests, benchmarks and docs; not part of the wheel."""
