"""The fixtures of the live suites: see :mod:`suites.live.conftest`."""

from suites.live.conftest import kafka_cases, kafka_client, kafka_verdict, pytest_generate_tests

__all__ = ["kafka_cases", "kafka_client", "kafka_verdict", "pytest_generate_tests"]
