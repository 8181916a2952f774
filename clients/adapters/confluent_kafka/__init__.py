"""confluent-kafka for Python, which wraps librdkafka."""

from __future__ import annotations

from pathlib import Path

from clients.adapters.python_lib.pypi_client import PyPIClient
from clients.known_settings import LIBRDKAFKA

CLIENT = PyPIClient(
    name="confluent-kafka",
    summary="confluent-kafka for Python, on librdkafka",
    language="python/c",
    default_version="2.16.1",
    versions=("2.0.2", "2.3.0", "2.8.2", "2.16.1"),
    program=Path(__file__).parent / "main.py",
    reserved=LIBRDKAFKA,
)
